"""``compare``, called as the console script calls it, on files and stored runs."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from instruction_counts.domain.records import Run
from instruction_counts.storage.json_files import to_json
from instruction_counts.storage.store import Store
from tests.builders import counted, cpp
from tests.cli.program import Program
from tests.fakes import make_record, make_run

BASE = {"same": 1000, "worse": 1000, "better": 1000, "missing": 1000}
NEW = {"same": 1000, "worse": 1500, "better": 800, "new": 1000}
Files: TypeAlias = tuple[str, str]


def run_of(counts: Mapping[str, int]) -> Run:
    """A run of C++ cases that cost so much."""
    return make_run(*(cpp("Group", name, outcome=counted(count)) for name, count in counts.items()))


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Two runs in files."""
    paths = tmp_path / "base.json", tmp_path / "new.json"
    for path, counts in zip(paths, (BASE, NEW), strict=True):
        path.write_text(to_json(run_of(counts)))
    return str(paths[0]), str(paths[1])


@pytest.fixture
def compare(capsys: pytest.CaptureFixture[str]) -> Program:
    """The command."""
    return Program(capsys, ("compare",))


def test_a_regression_has_its_own_exit_code(files: Files, compare: Program) -> None:
    """Scripts can tell it from an error."""
    assert 3 == compare(*files).code


def test_without_a_regression_all_is_well(files: Files, compare: Program) -> None:
    """Whatever got better, or is only on one side."""
    out = compare.output(*files, *(f"--only=*/{name}" for name in ("same", "better", "new")))

    assert "3 cases: 1 same · 1 better · 1 new" in out


def test_verdicts_are_shown_with_their_cases(files: Files, compare: Program) -> None:
    """The worst first."""
    lines = [line.strip() for line in compare(*files).out.splitlines()]

    assert "5 cases: 1 same · 1 better · 1 worse · 1 new · 1 missing" in lines
    assert lines.index("Group / worse · C++ · Eager · Forward") < lines.index(
        "Group / better · C++ · Eager · Forward"
    )


@pytest.mark.parametrize("names", [("1", "2"), ("before", "after"), ("1", "after")])
def test_stored_runs_are_compared(names: tuple[str, str], tmp_path: Path, compare: Program) -> None:
    """By number or by tag."""
    path = tmp_path / "runs.db"
    with Store.open(path) as store:
        for counts, tag in ((BASE, "before"), (NEW, "after")):
            store.tag(store.import_run(run_of(counts)), tag)

    assert 3 == compare(*names, "--db", path).code


def test_files_are_compared_without_a_database(files: Files, compare: Program) -> None:
    """None is made, nor is one needed."""
    assert 3 == compare(*files, "--db", "/nowhere/runs.db").code


@pytest.mark.parametrize(
    ("effect", "code"), [("60%", 0), ("49%", 3), ("501", 0), ("500", 3), ("49%,501", 0)]
)
def test_changes_below_the_minimum_effect_are_no_regression(
    effect: str, code: int, files: Files, compare: Program
) -> None:
    """Both of its parts have to be reached."""
    assert code == compare(*files, "--min-effect", effect, "--only", "*/worse").code


@pytest.mark.parametrize("effect", ["", "much", "-1", "1e3", "5%%", "0.5", "1,,2"])
def test_an_effect_that_is_none_is_wrong_usage(effect: str, files: Files, compare: Program) -> None:
    """With what it can be."""
    assert 2 == compare(*files, "--min-effect", effect).code


def test_many_cases_are_cut_short(files: Files, compare: Program) -> None:
    """It is said, and how to see them all."""
    slower = {f"case {number}": 2000 for number in range(30)}
    for path, counts in zip(files, (dict.fromkeys(slower, 1000), slower), strict=True):
        Path(path).write_text(to_json(run_of(counts)))
    shown = [compare(*files, *more).out for more in ([], ["--limit", "0"])]

    assert [20, 30] == [text.count("1,000 → 2,000") for text in shown]
    assert "… and 10 more (--limit 0 shows all)" in shown[0]


def test_the_comparison_is_written_as_json(files: Files, tmp_path: Path, compare: Program) -> None:
    """With all that the table shows."""
    path = tmp_path / "c.json"
    compare(*files, "--output", path)
    data: dict[str, Any] = json.loads(path.read_text())
    case = next(case for case in data["cases"] if case["label"][-1] == "worse")

    assert {
        "verdict": "worse",
        "reason": "exact difference",
        "verified": False,
        "base": 1000,
        "new": 1500,
        "change": 500,
        "relative": 0.5,
    }.items() <= case.items()


def test_the_comparison_is_written_compressed(
    files: Files, tmp_path: Path, compare: Program
) -> None:
    """The same JSON."""
    paths = tmp_path / "c.json", tmp_path / "c.json.gz"
    compare(*files, *(f"--output={path}" for path in paths))

    assert paths[0].read_bytes() == gzip.decompress(paths[1].read_bytes())


def test_the_comparison_is_written_as_csv(files: Files, tmp_path: Path, compare: Program) -> None:
    """A line for each case."""
    path = tmp_path / "c.csv"
    compare(*files, "--output", path)
    rows = list(csv.DictReader(io.StringIO(path.read_text())))

    assert {"Group/same": "same", "Group/worse": "worse", "Group/better": "better"}.items() <= {
        row["label"]: row["verdict"] for row in rows
    }.items()


def test_the_comparison_is_written_as_markdown(
    files: Files, tmp_path: Path, compare: Program
) -> None:
    """For a comment on a pull request."""
    path = tmp_path / "c.md"
    compare(*files, "--output", path)

    assert path.read_text().startswith("**5 cases: 1 same · 1 better · 1 worse")


@pytest.mark.parametrize("name", ["c.txt", "c", "missing/c.json"])
def test_an_output_that_cannot_be_written_is_refused_first(
    name: str, files: Files, tmp_path: Path, compare: Program
) -> None:
    """Before anything is measured."""
    assert "--output" in compare.error(*files, "--output", tmp_path / name)


def test_a_file_that_turns_out_not_to_be_writable_is_an_error_after_the_report(
    files: Files, tmp_path: Path, compare: Program
) -> None:
    """What was found is not lost with a file: this name is too long for what is written first."""
    shown = compare(*files, "--output", tmp_path / f"{'x' * 250}.md")

    assert 1 == shown.code
    assert "1 worse" in shown.out
    assert "cannot be written" in shown.err


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["a", "b"], '"a" is neither a JSON file nor a stored run'),
        (["99", "98"], '"99" is neither a JSON file nor a stored run'),
        (["a", "a"], "both sides are a"),
    ],
)
def test_a_side_that_is_not_there_is_named(args: list[str], message: str, compare: Program) -> None:
    """With where to look."""
    assert message in compare.error(*args)


@pytest.mark.parametrize(
    ("stored", "args", "message"),
    [
        ("nosuchrun", [], '"nosuchrun" is neither a JSON file nor a stored run'),
        ("base.json", ["--only", "Nothing"], "base.json contains no selected case"),
    ],
)
def test_a_stored_side_is_looked_up_before_the_other_is_measured(
    stored: str, args: list[str], message: str, files: Files, tmp_path: Path, compare: Program
) -> None:
    """Which can take an hour; here even its definitions are not there."""
    name = tmp_path / stored if stored.endswith(".json") else stored
    build = f"new={sys.executable}"
    more = ["--definitions", "/nowhere.py", "--db", tmp_path / "runs.db", *args]

    assert message in compare.error(name, "new", "--build", build, *more)


def test_definitions_select_among_what_is_stored(
    files: Files, tmp_path: Path, compare: Program
) -> None:
    """As --only does; cases that no definition gives are not compared."""
    definitions = tmp_path / "one.py"
    definitions.write_text(
        "from core.api import GroupedStmts\n"
        "case = GroupedStmts(None, 'x;')\n"
        "BENCHMARKS = {('Group', 'better'): case, ('Group', 'unknown'): case}\n"
    )

    assert "1 cases: 1 better" in compare.output(*files, "--definitions", definitions)


def test_definitions_that_are_not_there_are_named_also_for_stored_runs(
    files: Files, compare: Program
) -> None:
    """They were ignored."""
    assert "nix.py" in compare.error(*files, "--definitions", "nix.py")


def test_two_builds_of_one_run_are_compared(tmp_path: Path, compare: Program) -> None:
    """They are named after a colon."""
    path = tmp_path / "two.json"
    records = [
        make_record("a", outcome=counted(count), build=build)
        for build, count in (("old", 1000), ("new", 2000))
    ]
    path.write_text(to_json(make_run(*records, builds=("old", "new"))))

    assert 3 == compare(f"{path}:old", f"{path}:new").code
