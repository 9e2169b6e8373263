"""The end of a check: what is shown and written, also where it was interrupted or for nothing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.cli.check_report import conclude
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.gating import Gating
from instruction_counts.domain.errors import UsageError
from instruction_counts.gate.baseline import Baseline, Head
from instruction_counts.gate.gate import FailOn
from instruction_counts.gate.limits import Limits
from instruction_counts.report.formats.entry import CheckReport
from instruction_counts.report.registry import Destination
from instruction_counts.session.checking import CheckRequest
from instruction_counts.session.comparing import Compared
from tests.builders import comparison, counted, cpp, difference, key, side
from tests.fakes import failed

LIMITS = Limits(fail_on_missing=True)
SAME = difference(1000, 1000, verdict=Verdict.SAME, label="same")
WORSE = difference(1000, 2000, label="worse")
MISSING = Difference(
    key("b"), cpp("b", outcome=counted(1)), None, Verdict.MISSING, Reason.ONLY_IN_BASE
)
OTHER_CODE = Difference(
    key("other"),
    *(cpp("other", outcome=counted(count)) for count in (1000, 9000)),
    Verdict.INCOMPARABLE,
    Reason.DEFINITION_CHANGED,
)
TOO_LONG = f"{'x' * 250}.md"
"""No file system takes it, with what is written beside it for a moment."""


def concluded(
    folder: Path,
    *names: str,
    found: Sequence[Difference] = (),
    limits: Limits | None = None,
    interrupted: bool = False,
) -> ExitCode:
    """The end of a check that writes files of these names, and junit.xml."""
    baseline = Baseline(Head.of(side()), {})
    request = CheckRequest(folder / "baseline.json", baseline, limits=limits)
    check = request.check(Compared(comparison(*found), interrupted))
    gating = Gating(limits, FailOn.REGRESSION, folder / "junit.xml")
    files = [Destination.of(folder / name, CheckReport) for name in names]
    return conclude(check, gating, files, 9)


# Interrupted


def test_an_interrupted_check_has_an_exit_code_of_its_own(tmp_path: Path) -> None:
    """Whatever was found until then."""
    found = [
        concluded(tmp_path, found=[difference], interrupted=True) for difference in (SAME, WORSE)
    ]

    assert [ExitCode.INTERRUPTED] * 2 == found


def test_an_interrupted_check_does_not_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It says what was found, and that it was interrupted."""
    concluded(tmp_path, found=[SAME], interrupted=True)
    shown = capsys.readouterr()

    assert "INTERRUPTED: 1 case\n" in shown.out
    assert "PASSES" not in shown.out
    assert "found until then" in shown.err


def test_an_interrupted_check_leaves_files_as_they_were(tmp_path: Path) -> None:
    """What the last check handed on stays, and no comment says anything of half a check."""
    (tmp_path / "c.json").write_text("of the last check")
    concluded(tmp_path, "c.json", "c.md", found=[WORSE], interrupted=True)

    assert {"c.json": "of the last check"} == {
        path.name: path.read_text() for path in tmp_path.iterdir()
    }


def test_what_an_interrupted_check_did_not_measure_is_not_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It would have come."""
    concluded(tmp_path, limits=LIMITS, found=[SAME, MISSING], interrupted=True)

    assert "INTERRUPTED: 1 case\n" in capsys.readouterr().out


# For nothing


def test_a_check_that_compared_nothing_does_not_pass(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is an error, after what it says of each case."""
    with pytest.raises(UsageError, match="nothing was compared"):
        concluded(tmp_path, found=[OTHER_CODE])

    assert "NOTHING WAS COMPARED: 1 case; 1 not guarded" in capsys.readouterr().out


def test_files_of_a_check_that_compared_nothing_say_so(tmp_path: Path) -> None:
    """For people in the first line; for programs, in a field and as an error."""
    with pytest.raises(UsageError, match="nothing was compared"):
        concluded(tmp_path, "c.md", "c.json", found=[OTHER_CODE])

    assert (tmp_path / "c.md").read_text().startswith("### NOTHING WAS COMPARED")
    assert json.loads((tmp_path / "c.json").read_text())["compares"] is False
    assert '<error message="nothing was compared" />' in (tmp_path / "junit.xml").read_text()


def test_a_check_without_any_case_compared_nothing(tmp_path: Path) -> None:
    """All were left out, say."""
    with pytest.raises(UsageError, match="nothing was compared"):
        concluded(tmp_path)


def test_what_fails_by_its_limits_fails_also_where_nothing_was_compared(tmp_path: Path) -> None:
    """That says more."""
    found = concluded(tmp_path, limits=Limits(fail_on_new=True), found=[OTHER_CODE])

    assert ExitCode.REGRESSION is found


def test_cases_that_failed_have_their_own_code_where_all_did(tmp_path: Path) -> None:
    """So that a script can tell a suite that is broken from one that is not comparable."""
    broken = Difference(
        key("a"),
        cpp("a", outcome=counted(1)),
        cpp("a", outcome=failed()),
        Verdict.FAILED,
        Reason.FAILED_IN_NEW,
    )

    assert ExitCode.CASES_FAILED is concluded(tmp_path, found=[broken])


# Files


def test_the_verdict_is_shown_before_files_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was measured for an hour is not lost with a file."""
    with pytest.raises(UsageError, match="cannot be written"):
        concluded(tmp_path, TOO_LONG, found=[WORSE])

    assert "FAILS: 1 of 1 case" in capsys.readouterr().out
