"""What the interpreter of a build says of its modules; a real one."""

import sys
from pathlib import Path

import pytest

from instruction_counts.builds.interpreter import missing_modules
from instruction_counts.domain.build import Build


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a module."""
    (tmp_path / "lies_in_a_folder.py").touch()
    return tmp_path


def test_modules_are_missing_that_the_build_cannot_import(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever this program finds in its folder or search path."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    build = Build("build", python=sys.executable)

    assert {"lies_in_a_folder"} == missing_modules(build, {"json", "lies_in_a_folder"})


def test_modules_are_there_that_the_build_has_in_its_own_search_path(folder: Path) -> None:
    """What ``env`` of a build names; what is printed at each start is not the answer."""
    (folder / "sitecustomize.py").write_text("print('hello')")
    build = Build("build", python=sys.executable, env={"PYTHONPATH": str(folder)})

    assert {"no_such"} == missing_modules(build, {"lies_in_a_folder", "no_such"})


def test_nothing_is_missing_in_a_build_that_does_not_start(tmp_path: Path) -> None:
    """Measuring it says why."""
    assert not missing_modules(Build("build", python=str(tmp_path / "none")), {"no_such"})
