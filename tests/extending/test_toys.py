"""What is added from outside the package goes through all that the program does.

The program is started as a user of the toys would: from a file that registers them.
"""

import csv
import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.process import ROOT, called

TOYS = Path(__file__).with_name("toys.py")
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
        variables = {"PYTHONPATH": str(ROOT), "BEADS": str(beads), "SHINE": str(shine)}
        done = called([sys.executable, str(TOYS), *args], folder, {**variables, "COLUMNS": "200"})
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


def test_an_engine_measures_runtimes_in_their_languages(shown: str, folder: Path) -> None:
    """Beside eager, and not in C++; what the build does not have is skipped with the reason."""
    document = json.loads((folder / "a.json").read_text())
    counts = {
        (case["language"], case["runtime"]): (case["outcome"]["instructions"] or {}).get("per_run")
        for case in document["cases"]
    }

    assert "abacus" == document["engine"]
    assert {
        ("python", "eager"): 900,
        ("c++", "eager"): 1500,
        ("python", "twice"): 1900,
        ("python", "unheard"): None,
    } == counts
    assert 'this torch has no torch.unheard, which the runtime "unheard" needs' in shown


def test_the_table_names_a_runtime_and_a_metric(shown: str) -> None:
    """A row below that of the eager case, and a column beside the instructions."""
    rows = [line.split()[:3] for line in shown.splitlines()]

    assert ["Twice", "1,900", "5"] == rows[rows.index(["add", "900", "5"]) + 1]
    assert "shine" in shown


@pytest.mark.usefixtures("shown")
def test_files_name_a_runtime_and_a_metric(folder: Path) -> None:
    """A row of its own, so that none hides another, and a column; also in a format of its own."""
    markdown, csv_file = ((folder / f"a.{suffix}").read_text() for suffix in ("md", "csv"))

    for text in (markdown, csv_file):
        assert 1 == sum("twice" in line.lower() for line in text.splitlines())
    assert "Python shine" in markdown
    assert ["5", "5", "5", ""] == [row["shine"] for row in csv.DictReader(csv_file.splitlines())]
    assert ["add eager 900", "add eager 1500", "add twice 1900", "add unheard None"] == (
        (folder / "a.lines").read_text().splitlines()
    )


@pytest.mark.usefixtures("shown")
@pytest.mark.parametrize(("base", "new"), [("1", "3"), ("a.json", "dull.json")])
def test_a_change_of_a_judged_metric_is_reported(
    program: Program, folder: Path, base: str, new: str
) -> None:
    """As a line of its own; the verdict on the instructions stays."""
    options = ("--db", "runs.db", "--output", "d.md", "--output", "d.json", "--output", "d.csv")
    compared = program("compare", base, new, *options)
    first = json.loads((folder / "d.json").read_text())["cases"][0]

    for text in (compared, (folder / "d.md").read_text()):
        assert "shine of the beads: 5 → 3 (worse)" in text
    assert "same" == first["verdict"]
    assert {"shine": {"base": 5, "new": 3, "verdict": "worse"}} == first["metrics"]
    assert "base_shine,new_shine" in (folder / "d.csv").read_text()


@pytest.mark.usefixtures("shown")
@pytest.mark.parametrize(("base", "new"), [("1", "2"), ("a.json", "b.json")])
def test_what_was_stored_is_compared(program: Program, folder: Path, base: str, new: str) -> None:
    """From the database and from files, each runtime by itself; limits name one, too."""
    twice = ("compare", base, new, "--db", "runs.db", "--runtime", "twice")
    compared = program(*twice, "--output", "c.md", code=3)
    (folder / "limits.yaml").write_text("limits:\n  - {runtime: twice, hard: never}\n")

    assert "1,900  3,800" in compared
    assert " 900  1,800" not in compared
    assert "| add · Twice | 1,900" in (folder / "c.md").read_text()
    program(*twice, "--gate", "limits.yaml", code=0)


def test_a_source_gives_cases(program: Program) -> None:
    """The files that it reads are named like any definitions."""
    listed = program("list", "--definitions", "cases.list")

    assert ["cases/0", "cases/1"] == listed.splitlines()[:2]


FORK_CASES = """\
from core.api import GroupedOnce, GroupedSetup, GroupedStmts, TimerArgs

BENCHMARKS = {
    "add": GroupedStmts(
        "y = x + x", None, GroupedSetup("x = torch.ones(4)"), "f(x) -> y", runtimes=("packed",)
    ),
    "first": TimerArgs("torch.mm(x, x)", "x = torch.ones(4, 4)", kind="first"),
    "once": GroupedOnce("torch.mm(x, x)", "x = torch.ones(4, 4)"),
    "bare": GroupedOnce("import json.tool", imports=()),
    "odd": TimerArgs("pass", kind="odd"),
}
"""


@pytest.mark.slow
@pytest.mark.thorough
def test_toys_are_measured_by_the_fork_engine(program: Program, folder: Path) -> None:
    """A runtime with an artefact, a kind without windows, and a metric that a task takes.

    Beside them, what the program itself counts once: in a process with torch, and in a bare one.
    """
    (folder / "fork.py").write_text(FORK_CASES)
    files = ("--definitions", "fork.py", "--db", "fork.db", "--output", "fork.json")
    program("run", "--no-times", *files, code=4)
    found = json.loads((folder / "fork.json").read_text())["cases"]
    cases = {f"{case['label'][-1]} {case['runtime']}": case["outcome"] for case in found}
    eager, packed = cases["add eager"], cases["add packed"]
    first, once, bare, odd = (
        cases[f"{name} explicit"] for name in ("first", "once", "bare", "odd")
    )

    assert packed["instructions"]["per_run"] > eager["instructions"]["per_run"] > 0
    assert 2 == len(first["instructions"]["windows"])
    assert first["instructions"]["per_run"] > 0
    assert [3, 3] == [len(outcome["instructions"]["windows"]) for outcome in (once, bare)]
    # The same but for a loop, and for names that the toy looks up as a module does.
    assert 1000 > abs(once["instructions"]["per_run"] - first["instructions"]["per_run"])
    assert once["metrics"]["operator_calls"] > 0 == bare["metrics"]["operator_calls"]
    assert "json/tool.py" in bare["executed"]["functions"]["file"]
    assert [3, 13, 9] == [case["metrics"]["letters"] for case in (eager, packed, first)]
    assert 'unknown kind of case "odd"' in str(odd)
