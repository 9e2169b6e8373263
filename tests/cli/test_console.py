"""What people see while a run goes on."""

from __future__ import annotations

import io

import pytest

from instruction_counts.cli import console
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.execution.events import Event, Finished, Started
from tests.fakes import OK, failed, make_order

ORDER = make_order("Top", "add")


def shown(*events: Event) -> None:
    """Show these events of two cases."""
    with console.progress(2) as progress:
        for event in events:
            progress.show(event)


EVENTS = (
    Started(ORDER),
    Finished(ORDER, OK),
    Finished(ORDER, failed(message="E: [bad]")),
    Finished(ORDER, Outcome(Status.SKIPPED)),
)


def test_nothing_of_progress_goes_into_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """What failed is said at the end."""
    shown(*EVENTS)

    assert ("", "") == capsys.readouterr()


def test_progress_on_a_terminal_is_a_line_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above it stands what failed, with the reason; text from outside is no markup."""
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    shown(*EVENTS)

    assert "failed  Top / add · Python · Eager · Forward" in terminal.getvalue()
    assert "E: [bad]" in terminal.getvalue()
    assert "3 done · 1 failed" in terminal.getvalue()


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
