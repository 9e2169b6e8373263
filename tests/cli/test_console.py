"""What people see while a run goes on."""

from __future__ import annotations

import pytest

from instruction_counts.cli import console
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.execution.events import Finished, Started
from tests.fakes import OK, failed, make_order

ORDER = make_order("Top", "add")


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [
        (OK, "ok  Top / add · Python · Eager · Forward  8,899 instr  2.2 us"),
        (
            Outcome(Status.OK, times=OK.times),
            "ok  Top / add · Python · Eager · Forward  2.2 us",
        ),
        (
            failed(message="E: bad"),
            "failed Top / add · Python · Eager · Forward: E: bad   (stmt line 1: x + y)",
        ),
    ],
)
def test_a_finished_case_is_one_line(outcome: Outcome, expected: str) -> None:
    """With its result, or the reason why it has none."""
    assert expected == console.describe(Finished(ORDER, outcome))


def test_progress_in_a_pipe_is_a_line_for_each_finished_case(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Numbered, on standard error."""
    with console.progress(2) as progress:
        progress.show(Started(ORDER))
        progress.show(Finished(ORDER, OK))
        progress.show(Finished(ORDER, failed()))
    printed = capsys.readouterr()

    assert ["[1/2]", "[2/2]"] == [line.split()[0] for line in printed.err.splitlines()]
    assert "" == printed.out


@pytest.mark.parametrize(
    "text", ["[red]x[/red]", ":b: :smile:", "1_000 'text' http://a", "x" * 300]
)
def test_text_is_shown_as_it_is(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Code and messages hold what looks like markup, and lines longer than a terminal."""
    console.line(text)
    console.error(text)
    console.note(text)
    printed = capsys.readouterr()

    assert f"{text}\n" == printed.out
    assert f"{text}\n" * 2 == printed.err
