"""What the exit code of ``run`` says."""

from __future__ import annotations

from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.run_command import exit_code
from instruction_counts.session.measuring import MeasuredRun
from tests.fakes import failed, make_order, make_record, make_run


def test_a_run_that_is_not_stored_is_no_success() -> None:
    """Results on the screen alone are lost."""
    run = make_run(make_record("a"))
    measured = MeasuredRun(run, (make_order("a"),), is_stored=False)

    assert ExitCode.ERROR == exit_code(measured)


def test_what_failed_before_and_is_not_selected_now_is_no_failure_of_this_run() -> None:
    """It is in the file that was gone on with, and stays there."""
    run = make_run(make_record("a"), make_record("b", outcome=failed()))
    asked = [
        MeasuredRun(run, tuple(make_order(label) for label in labels)) for labels in ("a", "ab")
    ]

    assert [ExitCode.OK, ExitCode.CASES_FAILED] == [exit_code(measured) for measured in asked]
