"""Modules beside a program: which there are, and which the process that counts needs."""

import importlib
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from instruction_counts.api.beside import modules_beside, needed
from instruction_counts.api.passing import code_of, codes_of
from instruction_counts.domain.errors import UsageError


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Writes modules into folders, and has the first of these searched first."""
    before, folders = {*sys.modules}, [tmp_path / "first", tmp_path / "second"]
    for folder in reversed(folders):
        folder.mkdir()
        monkeypatch.syspath_prepend(folder)

    def written(**texts: str) -> None:
        for name, text in texts.items():
            path = tmp_path / name.replace("__", "/")
            path.parent.mkdir(exist_ok=True)
            path.with_suffix(".py").write_text(text)

    yield written
    for name in {*sys.modules} - before:
        del sys.modules[name]


def elsewhere(folder: Path, stmt: str, setup: str = "") -> str:
    """What ``stmt`` is in a process that searches no folder of this one."""
    codes = codes_of(setup, [stmt], {})
    values = {name: sys.modules[name] for name in ("mine", "other") if name in sys.modules}
    passed_on = code_of(setup, [stmt], values, folder, modules_beside(codes))
    code = f"{passed_on}\n{setup}\nprint({stmt})"
    command = [sys.executable, "-P", "-c", code]
    environment = {**os.environ, "PYTHONPATH": ""}
    done = subprocess.run(
        command, env=environment, cwd="/", capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_module_is_that_of_the_program(write: Callable[..., None], tmp_path: Path) -> None:
    """Whatever else has its name in a folder that is searched, too."""
    write(second__mine="x = 1", first__other="x = 2")
    assert "second" in str(importlib.import_module("mine").__file__)
    importlib.import_module("other")
    write(first__mine="x = 3")

    assert "1 2" == elsewhere(tmp_path, "mine.x, other.x").translate({ord(c): "" for c in "(,)"})


def test_a_package_without_a_file_has_all_its_folders(
    write: Callable[..., None], tmp_path: Path
) -> None:
    """They may lie in several folders."""
    write(first__mine="import parts.one, parts.two\nx = parts.one.x + parts.two.x")
    write(first__parts__one="x = 1", second__parts__two="x = 2")
    importlib.import_module("mine")

    assert "3" == elsewhere(tmp_path, "mine.x")


@pytest.mark.parametrize(
    ("stmt", "setup"), [("late.x", "import late"), ("mine.f()", ""), ("mine.g()", "")]
)
def test_modules_are_found_that_nobody_imported_yet(
    stmt: str, setup: str, write: Callable[..., None], tmp_path: Path
) -> None:
    """A setup does, or a function when it is called."""
    functions = "def f():\n    import late\n    return late.x\ndef g():\n    return f()\n"
    write(first__mine=functions, first__late="x = 5")
    importlib.import_module("mine")

    assert "5" == elsewhere(tmp_path, stmt, setup)


def test_a_namespace_needs_no_file(write: Callable[..., None], tmp_path: Path) -> None:
    """A program may have made it."""
    write(first__mine="x = 1")
    values = {"__name__": "made", "mine": importlib.import_module("mine")}

    assert "import mine" in code_of("", ["mine.x"], values, tmp_path, modules_beside())


def test_what_is_needed_is_named_or_named_by_that(write: Callable[..., None]) -> None:
    """Other modules of the program are none of it."""
    write(first__mine="import other", first__other="", first__third="")
    for name in ("mine", "third"):
        importlib.import_module(name)

    assert ["mine", "other"] == [*needed(b"mine.x + thirds", modules_beside())]


def test_a_module_with_a_name_of_the_standard_library_is_refused(
    write: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A build has that one, and would be measured with it."""
    write(first__statistics="x = 1")
    monkeypatch.delitem(sys.modules, "statistics", raising=False)
    importlib.import_module("statistics")

    with pytest.raises(UsageError, match=r"first/statistics.py has the name of .*\n  Rename it"):
        needed(b"statistics.x", modules_beside())


def test_modules_of_libraries_lie_beside_nothing() -> None:
    """The standard one, and what is installed."""
    assert not {"json", "attrs", "torch", "__main__"} & modules_beside().keys()
