"""Builds with a known change, which benchmarks and other tests rely on."""

import os
import sys
import venv
from pathlib import Path

import pytest

from benchmarks import injected
from benchmarks.detect import Experiment, Found, judged_case
from instruction_counts.domain.build import Build
from tests.process import called

_MODULE = """\
def one(x):
    return x

def two(x):
    return 2 * x
"""
_ASK = """\
import toy.numbers
from toy.numbers import one, two
print(one(5), two(5), two.__code__.co_filename, two.__code__.co_firstlineno)
"""


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder around a package with one module, which is on the path."""
    folder = tmp_path / "packages"
    (folder / "toy").mkdir(parents=True)
    (folder / "toy" / "__init__.py").touch()
    (folder / "toy" / "numbers.py").write_text(_MODULE)
    monkeypatch.setenv("PYTHONPATH", str(folder))
    return folder


def answer(build: Build, package: Path) -> list[str]:
    """What the functions of the module give in a build, and where they say that they stand."""
    path = os.pathsep.join([build.env.get("PYTHONPATH", ""), str(package)])
    return called([str(build.python), "-c", _ASK], variables={"PYTHONPATH": path}).stdout.split()


def edited(folder: Path, old: str, new: str) -> Build:
    """A build in which the module is edited."""
    return injected.edited("new", sys.executable, folder, "toy/numbers.py", old, new)


def test_an_edited_module_runs_the_edited_code(package: Path, tmp_path: Path) -> None:
    """Its functions keep the file, and the line as of the edited text.

    The file is not touched, and compiled code from before the edit, which is there, not used.
    """
    base, file = Build("base", sys.executable), str(package / "toy" / "numbers.py")
    before = answer(base, package)
    build = edited(tmp_path, "    return x\n", "    x += 1\n    return x\n")

    assert ["5", "10", file, "4"] == before == answer(base, package)
    assert ["6", "10", file, "5"] == answer(build, package)
    assert _MODULE == Path(file).read_text()


@pytest.mark.parametrize(("old", "times"), [("return 3", 0), ("return", 2)])
@pytest.mark.usefixtures("package")
def test_a_text_that_is_not_there_once_is_refused(old: str, times: int, tmp_path: Path) -> None:
    """Another version of the package may have other lines."""
    with pytest.raises(ValueError, match=f"numbers.py holds {times} times, not once"):
        edited(tmp_path, old, "pass")


@pytest.mark.parametrize(
    ("label", "verdict", "causes", "expected"),
    [
        ("relu", "worse", ["relu.py:1 relu  2 → 3 bytecodes"], Found(1, 1, 1, 1)),
        ("relu", "worse", ["+3 dict_lookup"], Found(1, 1, 1, 0)),
        ("relu", "ambiguous", [], Found(1, 1)),
        ("add", "ambiguous", [], Found(1)),
        ("add", "worse", ["+3 dict_lookup"], Found(1, false_alarms=1)),
    ],
)
def test_a_case_is_judged_by_whether_the_change_reaches_it(
    label: str, verdict: str, causes: list[str], expected: Found
) -> None:
    """What is ambiguous is not found, and no false alarm."""
    experiment = Experiment("", Build("new", sys.executable), ("relu",), cause=r"relu\.py:\d+ relu")
    case = {"label": [label], "verdict": verdict, "reason": "", "causes": causes}

    assert expected == judged_case(experiment, case)


def numbers_of(python: Path) -> str:
    """What the module of an environment holds."""
    code = "import toy.numbers as n; print([*vars(n)][8:], n.__file__)"
    return called([str(python), "-c", code]).stdout


def test_what_is_added_to_a_copy_leaves_the_original_alone(tmp_path: Path) -> None:
    """Although they share their files; a copy is found at its own place, also without symbols."""
    environment = tmp_path / "environment"
    venv.create(environment, symlinks=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    (packages / "toy").mkdir()
    (packages / "toy" / "numbers.py").write_text("one = 1\n")
    build = injected.copied("new", environment, tmp_path / "copy", stripped=True)
    injected.add_to(tmp_path / "copy", "toy/numbers.py", "two = 2\n")
    found = numbers_of(Path(str(build.python)))

    assert not injected.has_symbols(tmp_path / "copy")
    assert "['one', 'two']" in found
    assert str(tmp_path / "copy") in found
    assert "['one']" in numbers_of(environment / "bin" / "python")
