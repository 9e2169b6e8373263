"""What is said of where results are: each line can be copied, and works."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.run_command import exit_code_of
from instruction_counts.cli.stored_run import go_on, saved
from instruction_counts.domain.records import Run
from instruction_counts.session.measuring import MeasuredRun
from instruction_counts.session.sides import LazyStore, read_side
from instruction_counts.storage.store import Store
from tests.fakes import failed, make_order, make_record, make_run

ONE, OTHER = make_run(make_record("a")), make_run(make_record("b"))

COMPARE = "Compare: instruction-counts compare"
EXPORT = "instruction-counts runs show 7 --output"


def run_of(*builds: str) -> Run:
    """A run of several builds."""
    return make_run(*(make_record("a", build=build) for build in builds), builds=builds)


def said_of_the_last(path: Path, *runs: Run) -> str:
    """What is said of the last of several runs."""
    with Store.open(path / "runs.db") as store:
        return saved(store, [store.import_run(run) for run in runs][-1])


@pytest.mark.parametrize(
    ("runs", "expected"),
    [
        ([ONE], "Saved as run 1."),
        # A run in between that is empty, or has other cases alone, is of no use.
        ([ONE, make_run(), ONE], f"Saved as run 3. {COMPARE} 1 3"),
        ([ONE, OTHER, ONE], f"Saved as run 3. {COMPARE} 1 3"),
        ([OTHER, ONE], "Saved as run 2."),
        # Of a run with several builds one is named, or else a comparison would refuse it.
        ([ONE, run_of("base", "new")], f"Saved as run 2. {COMPARE} 1 2:base"),
        ([run_of("base", "new"), ONE], f"Saved as run 2. {COMPARE} 1:base 2"),
        ([run_of("base", "new"), run_of("b", "new")], f"Saved as run 2. {COMPARE} 1:new 2:new"),
        ([run_of("a b", "c"), run_of("a b")], f"Saved as run 2. {COMPARE} '1:a b' 2"),
    ],
)
def test_a_run_can_be_compared_with_the_one_before(
    runs: list[Run], expected: str, tmp_path: Path
) -> None:
    """The command is shown, to be copied."""
    assert expected == said_of_the_last(tmp_path, *runs)


@pytest.mark.parametrize("before", [ONE, run_of("base", "new"), run_of("a b", "c")])
def test_what_is_said_can_be_compared(before: Run, tmp_path: Path) -> None:
    """Each side is found."""
    said = said_of_the_last(tmp_path, before, run_of("new", "c"))
    with LazyStore(str(tmp_path / "runs.db")) as runs:
        sides = [read_side(name, runs) for name in shlex.split(said)[-2:]]

    assert [1, 1] == [len(side.records) for side in sides]


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (["r.json"], "Go on with: --resume r.json"),
        (["r.md", "r.csv", "a b.json.gz", "r.json"], "Go on with: --resume 'a b.json.gz'"),
        (["r.md"], f"Go on with --resume FILE.json, from: {EXPORT} FILE.json"),
        ([], f"Go on with --resume FILE.json, from: {EXPORT} FILE.json"),
    ],
)
def test_a_run_goes_on_from_what_can_be_read_again(names: list[str], expected: str) -> None:
    """Tables for people cannot."""
    assert expected == go_on(7, [Path(name) for name in names])
    assert "" == go_on(None, [Path("r.md")])  # what is nowhere


def test_a_run_that_is_not_stored_is_no_success() -> None:
    """Results on the screen alone are lost."""
    order = (make_order("a"),)

    assert ExitCode.OK is exit_code_of(MeasuredRun(ONE, order))
    assert ExitCode.ERROR is exit_code_of(MeasuredRun(ONE, order, is_stored=False))


def test_what_failed_before_and_is_not_selected_now_is_no_failure_of_this_run() -> None:
    """It is in the file that was gone on with, and stays there."""
    run = make_run(make_record("a"), make_record("b", outcome=failed()))
    codes = [
        exit_code_of(MeasuredRun(run, tuple(make_order(label) for label in labels)))
        for labels in ("a", "ab")
    ]

    assert [ExitCode.OK, ExitCode.CASES_FAILED] == codes
