"""Whether the files of a build are still those that were there."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from instruction_counts.builds.files import Files, changed, files_of


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file in a folder."""
    (tmp_path / "nn").mkdir()
    (tmp_path / "nn" / "linear.py").write_text("a = 1\n")
    return tmp_path


def files_in(folder: Path) -> Files:
    """The files of a build with all of torch in ``folder``."""
    return files_of("", str(folder), ())


def test_nothing_changed_where_nothing_was_done(folder: Path) -> None:
    """Looking leaves no trace."""
    assert () == changed(files_in(folder), files_in(folder))


@pytest.mark.parametrize(
    "act",
    [lambda path: path.write_text("a = 22\n"), lambda path: os.utime(path, ns=(0, 7)), Path.unlink],
    ids=["other size", "other time", "gone"],
)
def test_a_file_that_changed_is_named(folder: Path, act: Callable[[Path], object]) -> None:
    """With its whole path."""
    before = files_in(folder)
    act(folder / "nn" / "linear.py")

    assert (str(folder / "nn" / "linear.py"),) == changed(before, files_in(folder))


def test_a_new_file_is_named(folder: Path) -> None:
    """It may be imported in place of another one."""
    before = files_in(folder)
    (folder / "new.py").write_text("")

    assert (str(folder / "new.py"),) == changed(before, files_in(folder))


def test_what_python_writes_for_itself_is_no_change(folder: Path) -> None:
    """The first import of a module compiles it."""
    before = files_in(folder)
    (folder / "__pycache__").mkdir()
    (folder / "__pycache__" / "new.pyc").write_text("")

    assert () == changed(before, files_in(folder))


def test_a_folder_that_is_not_there_has_no_files(tmp_path: Path) -> None:
    """All of them are then missing, and named."""
    assert {} == files_in(tmp_path / "absent")


def test_libraries_beside_those_of_others_are_looked_at(folder: Path, tmp_path: Path) -> None:
    """Debian puts them there; what else lies there is no part of the build."""
    shared = tmp_path / "lib"
    shared.mkdir()
    (shared / "libtorch_cpu.so.2").write_text("a")
    (shared / "libz.so").write_text("a")
    before = files_of("", str(folder / "nn"), [str(shared), str(folder / "nn" / "lib")])
    for path in shared.iterdir():
        path.write_text("ab")
    after = files_of("", str(folder / "nn"), [str(shared), str(folder / "nn" / "lib")])

    assert (str(shared / "libtorch_cpu.so.2"),) == changed(before, after)


def test_a_link_is_what_it_leads_to(folder: Path, tmp_path: Path) -> None:
    """Some installers link to files elsewhere."""
    (tmp_path / "elsewhere").write_text("a")
    (folder / "nn" / "link.py").symlink_to(tmp_path / "elsewhere")
    before = files_of("", str(folder / "nn"), ())
    (tmp_path / "elsewhere").write_text("ab")

    assert (str(folder / "nn" / "link.py"),) == changed(
        before, files_of("", str(folder / "nn"), ())
    )


def test_the_interpreter_is_a_part_of_the_build(folder: Path) -> None:
    """It executes what is counted."""
    interpreter = folder / "python"
    interpreter.write_text("a")
    before = files_of(str(interpreter), str(folder / "nn"), ())
    interpreter.write_text("ab")

    assert (str(interpreter),) == changed(
        before, files_of(str(interpreter), str(folder / "nn"), ())
    )
