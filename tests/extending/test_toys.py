"""What is added from outside the package goes through all that the program does.

The program is started as a user of the toys would: from a file that registers them.
"""

from __future__ import annotations

import csv
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

    def run(*args: str, beads: int = 100, shine: int = 5, code: int = 0) -> str:
        done = subprocess.run(
            [sys.executable, str(TOYS), *args],
            cwd=folder,
            env={
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "BEADS": str(beads),
                "SHINE": str(shine),
                "COLUMNS": "200",
            },
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
    program(*measure, "--output", "dull.json", shine=3)
    return shown


def _counts(path: Path) -> dict[str, int | None]:
    cases = json.loads(path.read_text())["cases"]
    return {
        f"{case['language']} {case['runtime']}": (case["outcome"]["instructions"] or {}).get(
            "per_run"
        )
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


def test_a_metric_has_a_column_in_the_table(shown: str) -> None:
    """Beside the instructions of each language."""
    row = next(line.split() for line in shown.splitlines() if line.split()[:1] == ["Twice"])

    assert "shine" in shown
    assert ["Twice", "1,900", "5"] == row[:3]


def test_a_metric_has_a_column_in_csv(shown: str, folder: Path) -> None:
    """By its name."""
    del shown
    with (folder / "a.csv").open(encoding="utf-8") as stream:
        assert ["5", "5", "5", ""] == [row["shine"] for row in csv.DictReader(stream)]


def test_a_metric_has_a_column_in_markdown(shown: str, folder: Path) -> None:
    """In the table of all cases."""
    del shown

    assert "Python shine" in (folder / "a.md").read_text()


@pytest.mark.parametrize("run", ["1", "a.json"])
def test_a_metric_is_stored(shown: str, program: Program, folder: Path, run: str) -> None:
    """In the database and in files, which become each other."""
    del shown
    again = f"again-{run}.json".replace(".json.json", ".json")
    if run == "1":
        program("runs", "export", "1", again, "--db", "runs.db")
    else:
        program("runs", "import", run, "--db", "again.db")
        program("runs", "export", "1", again, "--db", "again.db")
    cases = json.loads((folder / again).read_text())["cases"]
    outcomes = [case["outcome"] for case in cases]

    assert [{"shine": 5}] * 3 == [found["metrics"] for found in outcomes if found["status"] == "ok"]


@pytest.mark.parametrize(("base", "new"), [("1", "3"), ("a.json", "dull.json")])
def test_a_change_of_a_judged_metric_is_reported(
    shown: str, program: Program, folder: Path, base: str, new: str
) -> None:
    """As a line of its own; the verdict on the instructions stays."""
    del shown
    options = ("--db", "runs.db", "--output", "d.md", "--output", "d.json", "--output", "d.csv")
    compared = program("compare", base, new, *options)

    assert "shine of the beads: 5 → 3 (worse)" in compared
    assert "shine of the beads: 5 → 3 (worse)" in (folder / "d.md").read_text()
    first = json.loads((folder / "d.json").read_text())["cases"][0]
    assert "same" == first["verdict"]
    assert {"shine": {"base": 5, "new": 3, "verdict": "worse"}} == first["metrics"]
    assert "base_shine,new_shine" in (folder / "d.csv").read_text()


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
