"""What people see while a run goes on."""

from __future__ import annotations

import io

import pytest

from instruction_counts.cli import console
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.execution.events import Finished, Started
from tests.fakes import OK, failed, make_order

ORDER = make_order("Top", "add")
OUTCOMES = (OK, failed(message="E: [bad]"), Outcome(Status.SKIPPED))


def show_progress() -> None:
    """Show the events of some cases."""
    with console.progress(2) as progress:
        for event in (Started(ORDER), *(Finished(ORDER, outcome) for outcome in OUTCOMES)):
            progress.show(event)


def test_nothing_of_progress_goes_into_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """What failed is said at the end."""
    show_progress()

    assert ("", "") == capsys.readouterr()


def test_progress_on_a_terminal_is_a_line_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above it stands what failed, with the reason; text from outside is no markup."""
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    show_progress()

    for text in ("failed  Top / add · Python · Eager · Forward", "E: [bad]", "3 done · 1 failed"):
        assert text in terminal.getvalue()


@pytest.mark.parametrize(
    "text", ["[red]x[/red]", ":b: :smile:", "1_000 'text' http://a", "x" * 300]
)
def test_text_is_shown_as_it_is(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Code and messages hold what looks like markup, and lines longer than a terminal."""
    console.line(text)
    console.error(text)
    console.note(text)

    assert (f"{text}\n", f"{text}\n" * 2) == capsys.readouterr()
