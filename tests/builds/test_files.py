"""Whether the files of a build are still those that were there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from instruction_counts.builds.files import changed, files_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file in a folder."""
    (tmp_path / "nn").mkdir()
    (tmp_path / "nn" / "linear.py").write_text("a = 1\n")
    return tmp_path


def test_nothing_changed_where_nothing_was_done(folder: Path) -> None:
    """Looking leaves no trace."""
    assert () == changed(files_in(str(folder)), files_in(str(folder)))


@pytest.mark.parametrize(
    "act",
    [lambda path: path.write_text("a = 22\n"), lambda path: os.utime(path, ns=(0, 7)), Path.unlink],
    ids=["other size", "other time", "gone"],
)
def test_a_file_that_changed_is_named(folder: Path, act: Callable[[Path], object]) -> None:
    """With its whole path."""
    before = files_in(str(folder))
    act(folder / "nn" / "linear.py")

    assert (str(folder / "nn" / "linear.py"),) == changed(before, files_in(str(folder)))


def test_a_new_file_is_named(folder: Path) -> None:
    """It may be imported in place of another one."""
    before = files_in(str(folder))
    (folder / "new.py").write_text("")

    assert (str(folder / "new.py"),) == changed(before, files_in(str(folder)))


def test_what_python_writes_for_itself_is_no_change(folder: Path) -> None:
    """The first import of a module compiles it."""
    before = files_in(str(folder))
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "new.pyc").write_text("")

    assert () == changed(before, files_in(str(folder)))


def test_a_folder_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    """All of them are then missing, and named."""
    assert {} == files_in(str(tmp_path / "absent"))
