"""``compare``, called as the console script calls it, on files and stored runs."""

from __future__ import annotations

import csv
import gzip
import io
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

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


@pytest.mark.parametrize("names", [("1", "2"), ("before", "after"), ("1", "last")])
def test_stored_runs_are_compared(names: tuple[str, str], tmp_path: Path, compare: Program) -> None:
    """By number, by tag, or the newest."""
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
    """It is said, and how to see them all; the last line is what to type next."""
    slower = {f"case {number}": 2000 for number in range(30)}
    for path, counts in zip(files, (dict.fromkeys(slower, 1000), slower), strict=True):
        Path(path).write_text(to_json(run_of(counts)))
    shown = [compare(*files, *more).out for more in ([], ["--limit", "0"])]

    assert [20, 30] == [text.count("1,000  2,000  +1,000  +100.00%") for text in shown]
    assert "… 10 more: --limit 0 shows all" in shown[0]
    command = f"Next: instruction-counts explain {' '.join(files)} 'Group/case 0'"
    assert command == shown[0].splitlines()[-1]


def test_the_comparison_is_written_in_every_form(
    files: Files, tmp_path: Path, compare: Program
) -> None:
    """By the suffix of each file; compressed, it is the same."""
    paths = [tmp_path / name for name in ("c.json", "c.json.gz", "c.csv", "c.md", "c.xml", "c.txt")]
    answer = compare(*files, *(f"--output={path}" for path in paths))
    as_json, packed, as_csv, as_markdown, as_junit, as_text = (path.read_bytes() for path in paths)
    case = next(case for case in json.loads(as_json)["cases"] if case["label"][-1] == "worse")
    rows = csv.DictReader(io.StringIO(as_csv.decode()))

    assert (1000, 1500, 500, "worse") == tuple(
        case[name] for name in ("base", "new", "change", "verdict")
    )
    assert as_json == gzip.decompress(packed)
    assert "worse" == next(row["verdict"] for row in rows if row["label"] == "Group/worse")
    assert as_markdown.startswith("**5 cases: 1 same · 1 better · 1 worse".encode())
    assert 5 == as_junit.count(b"<testcase")
    assert as_text.decode().splitlines()[-1] == next(
        line for line in answer.out.splitlines() if line.startswith("Next: ")
    )


@pytest.mark.parametrize("name", ["c.xlsx", "c", "missing/c.json"])
def test_an_output_that_cannot_be_written_is_refused_first(
    name: str, files: Files, tmp_path: Path, compare: Program
) -> None:
    """Before anything is measured."""
    assert "--output" in compare.error(*files, "--output", tmp_path / name)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["a", "b"], '"a" is neither a build, an interpreter, a JSON file nor a stored run'),
        (["99", "98"], '"99" is neither a build, an interpreter, a JSON file nor a stored run'),
        (["a", "a"], "base and new are both a"),
        (["no/python", "a"], "there is no interpreter, virtual environment or file no/python"),
    ],
)
def test_a_side_that_is_not_there_is_named(args: list[str], message: str, compare: Program) -> None:
    """With where to look."""
    assert message in compare.error(*args)


@pytest.mark.parametrize(
    ("stored", "args", "message"),
    [
        (
            "nosuchrun",
            [],
            '"nosuchrun" is neither a build, an interpreter, a JSON file nor a stored run',
        ),
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

    assert "1 case: 1 better" in compare.output(*files, "--definitions", definitions)


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
    assert 3 == compare(path).code  # both of its builds
    assert "has one build" in compare.error(f"{path}:old")


def test_an_interpreter_or_a_virtual_environment_is_a_build(
    files: Files, tmp_path: Path, compare: Program
) -> None:
    """Without a name; it is looked at before anything is measured."""
    environment = tmp_path / "venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(sys.executable)
    more = ["--db", tmp_path / "runs.db", "--definitions", "/nowhere.py"]

    for build in (sys.executable, environment):
        assert "/nowhere.py" in compare.error(files[0], build, *more)
