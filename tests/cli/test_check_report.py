"""The end of a check: what is shown and written, also where it was interrupted or for nothing."""

import json
from collections.abc import Sequence
from pathlib import Path

import attrs
import pytest

from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.cli.baseline_check import conclude
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.output import STDOUT, Destination, Outputs
from instruction_counts.domain.errors import UsageError
from instruction_counts.gate.limits import Limits
from instruction_counts.session.checking import Check
from instruction_counts.session.comparing import Compared
from tests.builders import comparison, difference
from tests.fakes import failed

BASELINE = Path("baseline.json")
AGAIN = "Show it again: instruction-counts baseline check baseline.json 7"
SAME = difference(1000, 1000, verdict=Verdict.SAME, label="same")
WORSE = difference(1000, 2000, label="worse")
OTHER_CODE = attrs.evolve(
    difference(1000, 9000, verdict=Verdict.INCOMPARABLE), reason=Reason.DEFINITION_CHANGED
)
BROKEN = attrs.evolve(difference(1, failed(), verdict=Verdict.FAILED), reason=Reason.FAILED_IN_NEW)


def concluded(
    folder: Path,
    *names: str,
    found: Sequence[Difference] = (),
    limits: Limits | None = None,
    interrupted: bool = False,
    form: str | None = None,
) -> ExitCode:
    """The end of a check that writes files of these names, ``-`` in a ``form``."""
    check = Check.of(Compared(comparison(*found), interrupted, run_id=7), limits)
    paths = (STDOUT if name == "-" else folder / name for name in names)
    files = [Destination.of(path, form, having=("tests",)) for path in paths]
    return conclude(check, BASELINE, Outputs(tuple(files)))


def test_an_interrupted_check_does_not_pass_and_leaves_files_as_they_were(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What the last check handed on stays.

    What is said is in the words of a comparison, which `test_stored_run` has in full.
    """
    (tmp_path / "c.json").write_text("of the last check")
    said = {"1 case\n": [SAME], "1 of 1 case fail the limits\n": [WORSE]}
    for expected, found in said.items():
        code = concluded(tmp_path, "c.json", "c.md", limits=Limits(), found=found, interrupted=True)
        shown = capsys.readouterr()

        assert ExitCode.INTERRUPTED is code
        assert f"INTERRUPTED: {expected}" in shown.out
        assert "PASSES" not in shown.out
        assert "found so far" in shown.err
        assert AGAIN == shown.err.splitlines()[1]
    assert {"c.json": "of the last check"} == {
        path.name: path.read_text() for path in tmp_path.iterdir()
    }


def test_an_interrupted_check_has_the_form_that_was_asked_for_on_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A program reads it: no text may stand there."""
    concluded(tmp_path, "-", found=[SAME], interrupted=True, form="json")

    shown = json.loads(capsys.readouterr().out)
    assert shown["interrupted"] is True


@pytest.mark.parametrize("found", [[OTHER_CODE], []], ids=["other code", "no case"])
def test_a_check_that_compared_nothing_does_not_pass(
    found: list[Difference], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is an error, after what it says of each case, and in all files."""
    with pytest.raises(UsageError, match="nothing was compared"):
        concluded(tmp_path, "c.md", "c.json", "junit.xml", found=found)

    assert "NOTHING WAS COMPARED" in capsys.readouterr().out
    assert (tmp_path / "c.md").read_text().startswith("**NOTHING WAS COMPARED")
    assert json.loads((tmp_path / "c.json").read_text())["compares"] is False
    assert '<error message="nothing was compared" />' in (tmp_path / "junit.xml").read_text()


def test_limits_and_failures_have_their_own_codes(tmp_path: Path) -> None:
    """Though nothing was compared: that a limit or a case fails says more."""
    by_limits = concluded(tmp_path, limits=Limits(fail_on_added=True), found=[OTHER_CODE])

    assert ExitCode.REGRESSION is by_limits
    assert ExitCode.CASES_FAILED is concluded(tmp_path, found=[BROKEN])


def test_the_verdict_is_shown_before_files_are_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What was measured for an hour is not lost with a file."""
    check = Check.of(Compared(comparison(WORSE)))
    outputs = Outputs((Destination.of(tmp_path / "c.md"),))
    tmp_path.rmdir()
    with pytest.raises(UsageError, match="cannot be written"):
        conclude(check, BASELINE, outputs)

    assert "FAILS: 1 of 1 case" in capsys.readouterr().out
