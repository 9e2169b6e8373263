"""Private folders: locked while their process lives, and swept when it is gone."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from instruction_counts.system.work_folders import WorkFolder, sweep

pytestmark = pytest.mark.faults

ROOT = Path(__file__).resolve().parents[2]
OTHER = """
from pathlib import Path
from instruction_counts.system.work_folders import WorkFolder
folder = WorkFolder()
(folder.path / "file").touch()
print(folder.path, flush=True)
input()
"""


@pytest.fixture
def other() -> Iterator[subprocess.Popen[str]]:
    """Another process with a folder of its own, whose path it prints."""
    process = subprocess.Popen(
        [sys.executable, "-c", OTHER],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process
        process.kill()


def folder_of(process: subprocess.Popen[str]) -> Path:
    """The folder of the other process."""
    assert process.stdout is not None
    return Path(process.stdout.readline().strip())


def test_a_folder_is_private_empty_and_gone_in_the_end() -> None:
    """With all that came into it."""
    with WorkFolder() as folder:
        assert 0o700 == stat.S_IMODE(folder.stat().st_mode)
        assert [] == list(folder.iterdir())
        (folder / "new").mkdir()

    assert not folder.exists()


def test_the_folder_of_a_killed_process_is_swept(other: subprocess.Popen[str]) -> None:
    """With all that is in it; that of a living one stays."""
    folder = folder_of(other)
    sweep()
    lived = (folder / "file").exists()
    other.send_signal(signal.SIGKILL)
    other.wait()
    sweep()

    assert lived
    assert not folder.exists()


@pytest.mark.parametrize(
    "name", ["instruction-counts", "instruction-counts.tar.gz", "other.abcdefgh"]
)
def test_what_has_another_form_stays(name: str) -> None:
    """It is somebody else's."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    path = folder.rename(folder.with_name(f"{name}-{os.getpid()}"))
    try:
        sweep()

        assert path.is_dir()
    finally:
        path.rmdir()


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    """It may lead anywhere."""
    (tmp_path / "file").touch()
    with WorkFolder() as folder:
        pass
    folder.symlink_to(tmp_path)
    try:
        sweep()

        assert (tmp_path / "file").exists()
    finally:
        folder.unlink()


def test_a_folder_that_was_deleted_is_made_again_at_the_same_place() -> None:
    """And stays locked: nobody sweeps it."""
    work = WorkFolder()
    shutil.rmtree(work.path)
    work.restore()
    script = "from instruction_counts.system.work_folders import sweep; sweep()"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)
    stayed = work.path.is_dir()
    work.remove()

    assert stayed
    assert not work.path.exists()
