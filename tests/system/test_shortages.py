"""What the machine is short of is said in one line, with a remedy."""

import errno
import os
from pathlib import Path

import pytest

from instruction_counts.system.shortages import shortage, shortage_in

pytestmark = pytest.mark.faults


def from_system(number: int, *names: str | None) -> OSError:
    """An error with the words of the system."""
    return OSError(number, os.strerror(number), *names)


@pytest.mark.parametrize(
    ("error", "message", "remedy"),
    [
        (from_system(errno.ENOSPC, "/a", None, "/b"), "No space left on device: /b", "df -h /tmp"),
        (from_system(errno.EAGAIN), "Resource temporarily unavailable", "ulimit -u"),
        (RuntimeError("can't start new thread"), "no further thread can be started", "ulimit -u"),
        (from_system(errno.EMFILE), "Too many open files", "ulimit -n"),
        (from_system(errno.EFBIG), "File too large", "ulimit -f"),
        (from_system(errno.EACCES, "/a"), "Permission denied: /a", "Change its permissions"),
        (from_system(errno.ENAMETOOLONG, "/a"), "File name too long: /a", "Name another one"),
        (MemoryError(), "there is not enough memory", "ulimit -v"),
        (
            FileNotFoundError(errno.ENOENT, "No usable temporary directory found in ['/tmp']"),
            *("there is no folder for temporary files", "TMPDIR"),
        ),
        (
            RuntimeError("could not determine the home directory for '~/.local'"),
            *("this user has no home", "HOME"),
        ),
        (
            UnicodeEncodeError("ascii", "/é", 1, 2, "ordinal not in range(128)"),
            *("/é cannot be named in the locale's encoding, ascii", "PYTHONUTF8=1"),
        ),
    ],
)
def test_what_is_short_is_named(error: BaseException, message: str, remedy: str) -> None:
    """With what helps against it."""
    found = shortage(error)

    assert found is not None
    assert message == found.message
    assert remedy in found.remedy


def test_a_folder_that_was_deleted_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever asks where it is, as for a relative path."""
    folder = tmp_path / "folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    with pytest.raises(FileNotFoundError) as caught:
        Path("runs.db").absolute()
    found = shortage(caught.value)
    monkeypatch.chdir(tmp_path)

    assert found is not None
    assert "the current folder was deleted" == found.message


@pytest.mark.parametrize("words", ["MemoryError", "std::bad_alloc", "Cannot allocate memory"])
def test_programs_in_any_language_say_that_there_is_no_memory(words: str) -> None:
    """Python, C++ and the system."""
    assert words == shortage_in(f"cannot import torch: {words}:")[0]
    assert "ulimit -v" in shortage_in(words)[1]


def test_any_other_error_is_not_explained() -> None:
    """It may be a mistake of this program, which nobody must hide."""
    errors = FileNotFoundError(errno.ENOENT, "no file", "/a"), RuntimeError("bug"), KeyError("a")

    assert [None] * 3 == [*map(shortage, errors)]
    assert ("", "") == shortage_in("python does not start: Permission denied")
