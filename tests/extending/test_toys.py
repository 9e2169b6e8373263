"""What is added from outside the package goes through all that the program does.

The program is started as a user of the toys would: from a file that registers them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

TOYS = Path(__file__).with_name("toys.py")
ROOT = TOYS.parents[2]
CASES = """\
from core.api import GroupedSetup, GroupedStmts

BENCHMARKS = {
    "add": GroupedStmts(
        "y = x + x",
        "auto y = x + x;",
        GroupedSetup("x = 1", "int x = 1;"),
        "f(x) -> y",
        runtimes=("twice", "unheard"),
    )
}
"""
Program = Callable[..., str]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where definitions lie, and results."""
    path = tmp_path_factory.mktemp("toys")
    (path / "cases.py").write_text(CASES)
    (path / "cases.list").write_text("a = 1\nb = 22\n")
    return path


@pytest.fixture(scope="module")
def program(folder: Path) -> Program:
    """Runs the program with the toys in ``folder``, and returns what it prints."""

    def run(*args: str, beads: int = 100, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, str(TOYS), *args],
            cwd=folder,
            env={**os.environ, "PYTHONPATH": str(ROOT), "BEADS": str(beads), "COLUMNS": "200"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert code == done.returncode, done.stdout + done.stderr
        return done.stdout

    return run


@pytest.fixture(scope="module")
def shown(program: Program) -> str:
    """What two runs print, the second of which counts twice as many instructions."""
    measure = ("run", "--engine", "abacus", "--definitions", "cases.py", "--db", "runs.db")
    files = [("--output", f"a.{suffix}") for suffix in ("json", "csv", "md", "lines")]
    shown = program(*measure, *(part for pair in files for part in pair))
    program(*measure, "--output", "b.json", beads=200)
    return shown


def _counts(path: Path) -> dict[str, int | None]:
    cases = json.loads(path.read_text())["cases"]
    return {
        f"{case['language']} {case['runtime']}": case["instructions"]
        and case["instructions"]["per_run"]
        for case in cases
    }


def test_an_engine_measures(shown: str, folder: Path) -> None:
    """Its name and its counts are in the file."""
    del shown

    assert "abacus" == json.loads((folder / "a.json").read_text())["engine"]
    assert 900 == _counts(folder / "a.json")["python eager"]


def test_a_runtime_is_measured_in_its_languages(shown: str, folder: Path) -> None:
    """Beside eager, and not in C++."""
    del shown
    expected = {"python eager": 900, "c++ eager": 1500, "python twice": 1900}

    assert {**expected, "python unheard": None} == _counts(folder / "a.json")


def test_a_runtime_that_the_build_does_not_have_is_skipped(shown: str) -> None:
    """With the reason."""
    assert 'this torch has no torch.unheard, which the runtime "unheard" needs' in shown


@pytest.mark.parametrize("file", ["a.md", "a.csv"])
def test_each_runtime_has_a_row_of_its_own(shown: str, folder: Path, file: str) -> None:
    """In Markdown and in CSV; none hides another."""
    del shown

    assert 1 == sum("twice" in line.lower() for line in (folder / file).read_text().splitlines())


def test_the_table_names_a_runtime(shown: str) -> None:
    """Its row is below that of the eager case."""
    rows = [line.split()[:2] for line in shown.splitlines()]

    assert rows.index(["add", "900"]) + 1 == rows.index(["Twice", "1,900"])


@pytest.mark.parametrize(("base", "new"), [("1", "2"), ("a.json", "b.json")])
def test_what_was_stored_is_compared(shown: str, program: Program, base: str, new: str) -> None:
    """From the database and from files, each runtime by itself."""
    del shown
    compared = program("compare", base, new, "--db", "runs.db", "--runtime", "twice", code=3)

    assert "1,900 → 3,800" in compared
    assert "900 → 1,800" not in compared


def test_a_comparison_is_written(shown: str, program: Program, folder: Path) -> None:
    """As Markdown."""
    del shown
    program("compare", "a.json", "b.json", "--output", "c.md", code=3)

    assert "add · Python · Twice · Forward" in (folder / "c.md").read_text()


def test_a_format_is_written(shown: str, folder: Path) -> None:
    """By the suffix that it says."""
    del shown

    lines = (folder / "a.lines").read_text().splitlines()
    assert ["add eager 900", "add eager 1500", "add twice 1900", "add unheard None"] == lines


def test_a_source_gives_cases(program: Program) -> None:
    """The files that it reads are named like any definitions."""
    listed = program("list", "--definitions", "cases.list")

    assert ["0", "1"] == [line.split()[2] for line in listed.splitlines() if "cases / " in line]


def test_a_limit_names_a_runtime(shown: str, program: Program, folder: Path) -> None:
    """It is spelled as the option spells it."""
    del shown
    (folder / "limits.yaml").write_text("limits:\n  - {runtime: twice, hard: never}\n")
    program(
        *("compare", "a.json", "b.json", "--limits", "limits.yaml", "--runtime", "twice"), code=0
    )
