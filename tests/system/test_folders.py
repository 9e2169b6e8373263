"""Folders of this program: only its own ones, and those that nobody else can change."""

import multiprocessing
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.system.cache import VARIABLE, Cache
from instruction_counts.system.folders import (
    RUNTIME_VARIABLE,
    WorkFolder,
    data_folder,
    make_data_folder,
    make_runtime_folder,
    sweep,
    take,
)
from tests.process import ROOT

pytestmark = pytest.mark.faults


def mode(path: Path) -> int:
    """The rights of a folder."""
    return stat.S_IMODE(path.stat().st_mode)


def test_a_folder_is_made_private_and_is_ours_from_then_on(tmp_path: Path) -> None:
    """Whatever this program puts there."""
    folder = tmp_path / "deep" / "folder"
    take(folder, "")
    (folder / "runs.db").touch()
    take(folder, "")

    assert 0o700 == mode(folder)


@pytest.mark.parametrize("named", ["home", "link"])
@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("thesis.tex", ""),
        (".git", ""),
        # A cache of another program has a tag.
        ("CACHEDIR.TAG", "Signature: 8a477f597d28d172789f06886806bc55\n"),
        # What would be in a folder of another format is not known.
        (".instruction-counts", "A folder of instruction-counts, format 9.\n"),
    ],
)
def test_a_folder_that_holds_something_else_is_refused(
    tmp_path: Path, name: str, text: str, named: str
) -> None:
    """And stays as it is, also where a link leads to it."""
    folder = tmp_path / "home"
    (folder / "theirs").mkdir(parents=True)
    folder.chmod(0o755)
    (folder / name).write_text(text)
    (tmp_path / "link").symlink_to(folder)
    with pytest.raises(UsageError, match=f"not made by instruction-counts\n  Set {VARIABLE}"):
        Cache(tmp_path / named)

    assert {name, "theirs"} == {path.name for path in folder.iterdir()}
    assert 0o755 == mode(folder)


def test_the_default_folder_is_ours_by_its_name_but_no_link_that_is_called_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its name says nothing of the folder that it leads to."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    data_folder().mkdir()
    (data_folder() / "runs.db").touch()
    assert data_folder() == make_data_folder("--db")

    (data_folder() / ".instruction-counts").unlink()
    data_folder().rename(tmp_path / "folder").joinpath("mine").touch()
    data_folder().symlink_to(tmp_path / "folder")
    with pytest.raises(UsageError, match="not made by instruction-counts"):
        make_data_folder("--db")


@pytest.mark.parametrize("rights", [0o777, 0o770, 0o1777])
def test_a_folder_that_others_can_write_to_is_refused(tmp_path: Path, rights: int) -> None:
    """They could put code there; whoever made it changes it."""
    tmp_path.chmod(rights)
    with pytest.raises(UsageError, match=f"chmod go-w {tmp_path}"):
        take(tmp_path, "")

    assert rights == mode(tmp_path)


@pytest.mark.parametrize("name", ["file", "file/below", "dangling", "owned", "link"])
def test_what_cannot_be_had_is_refused(tmp_path: Path, name: str) -> None:
    """With the remedy; of another user is the folder, or the link to it."""
    (tmp_path / "file").touch()
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "owned").mkdir()
    (tmp_path / "link").symlink_to(tmp_path)
    reason = "cannot be created: .*"
    if name in {"owned", "link"}:
        if os.getuid() != 0:
            pytest.skip("only root can give a folder away")
        os.chown(tmp_path / name, 12345, -1, follow_symlinks=False)
        reason = "belongs to another user"
    with pytest.raises(UsageError, match=rf"{reason}\n  Do this"):
        take(tmp_path / name, "Do this")


def test_processes_that_begin_at_once_share_a_new_folder(tmp_path: Path) -> None:
    """None takes it for somebody else's."""

    def take_and_fill() -> None:
        take(tmp_path / "c", "", is_cache=True)
        (tmp_path / "c" / f"{os.getpid()}").touch()

    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=take_and_fill) for _ in range(8)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()

    assert [0] * 8 == [process.exitcode for process in processes]


def test_the_runtime_folder_is_the_same_wherever_temporary_files_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of all processes of a user, so that they know of each other."""
    monkeypatch.delenv(RUNTIME_VARIABLE, raising=False)
    before = make_runtime_folder()
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr("tempfile.tempdir", None)

    assert before == make_runtime_folder()
    assert before.name.endswith(f"-{os.getuid()}")


# Private folders: locked while their process lives, and swept when it is gone

OTHER = """
from pathlib import Path
from instruction_counts.system.folders import WorkFolder
folder = WorkFolder()
(folder.path / "file").touch()
print(folder.path, flush=True)
input()
"""


def test_the_folder_of_a_killed_process_is_swept(tmp_path: Path) -> None:
    """With all that is in it; that of a living one stays, and so does what is somebody else's."""
    command, pipe = [sys.executable, "-c", OTHER], subprocess.PIPE
    other = subprocess.Popen(command, cwd=ROOT, stdin=pipe, stdout=pipe, text=True)
    assert other.stdout is not None
    folder = Path(other.stdout.readline().strip())
    sweep()
    lived = (folder / "file").exists()
    with WorkFolder() as new:
        assert (0o700, []) == (mode(new), list(new.iterdir()))
        (new / "new").mkdir()
    (tmp_path / "file").touch()
    link = folder.with_name(f"instruction-counts.l{os.getpid():07}")
    link.symlink_to(tmp_path)  # it may lead anywhere
    theirs = folder.with_name(f"instruction-counts-{os.getpid()}")
    theirs.mkdir()
    other.kill()
    other.communicate()
    try:
        sweep()

        assert lived
        assert not (folder / "file").exists()
        assert theirs.is_dir()
        assert (tmp_path / "file").exists()
    finally:
        theirs.rmdir()
        link.unlink()


def test_folders_made_at_once_are_different_and_last_while_others_are_swept() -> None:
    """Also where a name is free again, and taken by the next one, while somebody sweeps."""

    def keeps_its_file(number: int) -> bool:
        with WorkFolder() as new:
            (new / "file").write_text(str(number))
            sweep()
            return (new / "file").read_text() == str(number)

    with ThreadPoolExecutor(8) as pool:
        kept = [*pool.map(keeps_its_file, range(400))]

    assert all(kept)


def test_folders_have_the_first_names_that_are_free(tmp_path: Path) -> None:
    """What hashes paths does the same in the next process of a machine that does nothing else."""
    for _ in range(2):
        with WorkFolder(tmp_path) as first, WorkFolder(tmp_path) as second:
            assert [".00000000", ".00000001"] == [first.suffix, second.suffix]


def test_what_has_the_name_of_a_folder_that_went_stays(tmp_path: Path) -> None:
    """Only what this process made is removed."""
    folder = WorkFolder(tmp_path)
    folder.path.rename(tmp_path / "gone")
    folder.path.mkdir()

    folder.remove()

    assert folder.path.is_dir()
