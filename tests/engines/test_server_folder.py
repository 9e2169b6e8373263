"""The folder of a server: whether it is as it was made, and how it is made again."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from instruction_counts.engines.server_folder import ServerFolder


def fill(folder: Path) -> None:
    """A file and a folder."""
    (folder / "dumps").mkdir()
    (folder / "worker.py").write_text("code")


@pytest.fixture
def folder(tmp_path: Path) -> ServerFolder:
    """A folder in a folder."""
    above = tmp_path / "work"
    above.mkdir()
    return ServerFolder(above / "counts", fill, lambda: above.mkdir(exist_ok=True))


def test_files_of_tasks_come_and_go(folder: ServerFolder) -> None:
    """The folder is what it was."""
    (folder.path / "request-000001").touch()
    with_file = folder.is_intact
    (folder.path / "request-000001").unlink()

    assert with_file
    assert folder.is_intact


@pytest.mark.parametrize(
    "harm",
    [
        shutil.rmtree,
        lambda path: path.rename(path.with_name("elsewhere")),
        lambda path: (path / "worker.py").unlink(),
        lambda path: (path / "dumps").rmdir(),
        lambda path: shutil.rmtree(path.parent),
        lambda path: (path.rename(path.with_name("elsewhere")), path.mkdir(), fill(path)),
    ],
    ids=["deleted", "moved", "a file", "a folder", "all", "another"],
)
def test_a_folder_that_was_harmed_is_made_again(
    folder: ServerFolder, harm: Callable[[Path], object]
) -> None:
    """At the same place, with what belongs there."""
    harm(folder.path)
    was_intact = folder.is_intact
    folder.make_again()

    assert not was_intact
    assert folder.is_intact
    assert 2 == folder.times_made
    assert "code" == (folder.path / "worker.py").read_text()
