"""Files that can be written, or not, and those that several processes read and replace."""

import os
import stat
import threading
from pathlib import Path

import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.system.files import check_writable, locked, write_atomically, write_output


@pytest.mark.parametrize("name", ["r.json", "new/folder/r.json", "old.json"])
def test_where_a_file_can_be_written_nothing_is_said_and_nothing_left(
    name: str, tmp_path: Path
) -> None:
    """Missing folders can be made, and are not made yet; what is there is not touched."""
    (tmp_path / "old.json").write_text("old")
    check_writable(tmp_path / name, "--output")

    assert [("old.json", "old")] == [(path.name, path.read_text()) for path in tmp_path.iterdir()]


@pytest.mark.parametrize(
    "name", ["file/r.json", "file/folder/r.json", f"{'long' * 70}.json", "/proc/r.json"]
)
def test_where_none_can_be_written_the_option_is_named(name: str, tmp_path: Path) -> None:
    """It is really tried: rights alone do not tell, and least of all those of root."""
    (tmp_path / "file").touch()

    with pytest.raises(UsageError, match=r"--output .* cannot be written: [A-Z]"):
        check_writable(tmp_path / name, "--output")


def test_a_file_that_another_one_keeps_is_waited_for_in_vain(tmp_path: Path) -> None:
    """One that is stopped must not stop all others; whatever ends a block ends its lock."""
    path = tmp_path / "file"
    with locked(path), pytest.raises(OSError, match="could not be acquired"), locked(path, 0.1):
        pass
    with pytest.raises(ZeroDivisionError), locked(path, 0.1):
        raise ZeroDivisionError
    with locked(path, 0.1):
        path.write_text("text")
    # A folder that takes none is an error, instead of a wait until it does.
    with pytest.raises(OSError, match="No such file"), locked(Path("/proc/file")):
        pass


def test_a_reader_always_sees_a_whole_file(tmp_path: Path) -> None:
    """Also one that reads while the file is replaced many times."""
    path = tmp_path / "r.json"
    texts = ["x" * 500, "y" * 50_000]
    path.write_text(texts[0])
    done = threading.Event()

    def write() -> None:
        for number in range(200):
            write_atomically(path, texts[number % 2])
        done.set()

    writer = threading.Thread(target=write)
    writer.start()
    seen = set()
    while not done.is_set():
        seen.add(path.read_text())
    writer.join()

    assert seen <= set(texts)


@pytest.mark.faults
def test_a_failed_write_leaves_the_old_file_alone(tmp_path: Path) -> None:
    """Nothing else of it is left either."""
    path = tmp_path / "r.json"
    path.write_text("old")
    with pytest.raises(UnicodeEncodeError):
        write_atomically(path, "\udc80")

    assert ("old", ["r.json"]) == (path.read_text(), [path.name for path in tmp_path.iterdir()])


@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_file_has_the_rights_that_its_user_wants(tmp_path: Path, mask: int, mode: int) -> None:
    """Those of any new file."""
    before = os.umask(mask)
    try:
        write_atomically(tmp_path / "r.json", "text")
    finally:
        os.umask(before)

    assert mode == stat.S_IMODE((tmp_path / "r.json").stat().st_mode)
    assert ["r.json"] == [path.name for path in tmp_path.iterdir()]


def test_a_file_that_is_written_again_keeps_its_link_and_its_rights(tmp_path: Path) -> None:
    """Others rely on both."""
    path, link = tmp_path / "r.json", tmp_path / "link.json"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path.name)
    write_output(link, "new")

    assert link.is_symlink()
    assert ("new", 0o640) == (path.read_text(), stat.S_IMODE(path.stat().st_mode))


def test_a_pipe_is_written_to_and_stays_one(tmp_path: Path) -> None:
    """So is any device: a file in place of ``/dev/null`` would break the machine."""
    pipe = tmp_path / "pipe.json"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        check_writable(pipe, "--output")
        write_output(pipe, ["a", "b"])
        read = os.read(reader, 9)
    finally:
        os.close(reader)

    assert (b"ab", True) == (read, pipe.is_fifo())
