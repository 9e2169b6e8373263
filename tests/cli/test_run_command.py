"""What ``run`` says of where its results are."""

from __future__ import annotations

from pathlib import Path

import pytest

from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.run_command import _asked_for, _exit_code, _saved
from instruction_counts.measurements import Outcome
from instruction_counts.results.records import Run
from instruction_counts.results.store import Store
from tests.fakes import OK, failed, make_order, make_record, make_run


def said_of_the_last(path: Path, *runs: Run) -> str:
    """What is said of the last of several runs."""
    with Store.open(path / "runs.db") as store:
        return _saved(store, [store.import_run(run) for run in runs][-1])


def test_the_first_run_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    """Its number is told."""
    assert "Saved as run 1." == said_of_the_last(tmp_path, make_run(make_record("a")))


def test_a_later_run_can_be_compared_with_the_one_before(tmp_path: Path) -> None:
    """The command is told, to be copied; an empty run in between is of no use."""
    run = make_run(make_record("a"))

    assert "Saved as run 3. Compare: main.py compare 1 3" == said_of_the_last(
        tmp_path, run, make_run(), run
    )


def test_what_failed_before_and_is_not_selected_now_is_no_failure_of_this_run() -> None:
    """It is in the file that was gone on with, and stays there."""
    run = make_run(make_record("a"), make_record("b", outcome=failed()))
    asked = [_asked_for(run, [make_order(label) for label in labels]) for labels in ("a", "ab")]

    assert [ExitCode.OK, ExitCode.CASES_FAILED] == [
        _exit_code(records, interrupted=False, delivered=True) for records in asked
    ]


@pytest.mark.parametrize(
    ("outcome", "interrupted", "code"),
    [(OK, False, ExitCode.ERROR), (failed(), False, 4), (OK, True, 130)],
)
def test_a_run_whose_results_did_not_arrive_is_no_success(
    outcome: Outcome, interrupted: bool, code: int
) -> None:
    """In a file, or at a webhook; what went wrong before that is told first."""
    records = [make_record("a", outcome=outcome)]

    assert code == _exit_code(records, interrupted=interrupted, delivered=False)
