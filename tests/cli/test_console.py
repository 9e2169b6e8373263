"""What people see while a run goes on."""

import io
import re

import pytest

from instruction_counts.cli import console
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.domain.work import WorkOrder
from instruction_counts.execution.events import Finished, Started
from tests.fakes import OK, failed, make_order

ORDER = make_order("Top", "add")
OUTCOMES = (OK, failed(message="E: [bad]"), Outcome(Status.SKIPPED))


def show_progress(order: WorkOrder = ORDER, total: int = 2) -> None:
    """Show the events of some cases."""
    with console.progress(total) as progress:
        for event in (Started(order), *(Finished(order, outcome) for outcome in OUTCOMES)):
            progress.show(event)


def on_terminal(
    monkeypatch: pytest.MonkeyPatch, width: int, order: WorkOrder = ORDER, total: int = 2
) -> str:
    """What a terminal of that width is sent."""
    terminal = io.StringIO()
    monkeypatch.setattr(terminal, "isatty", lambda: True)
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    show_progress(order, total)
    return terminal.getvalue()


def test_nothing_of_progress_goes_into_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    """What failed is said at the end."""
    show_progress()

    assert ("", "") == capsys.readouterr()


def test_progress_on_a_terminal_is_a_line_in_its_place(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above it stands what failed, with the reason; text from outside is no markup."""
    shown = on_terminal(monkeypatch, 200)

    for text in ("failed  Top / add · Python · Eager · Forward", "E: [bad]", "3 done · 1 failed"):
        assert text in shown
    assert "1 case " in on_terminal(monkeypatch, 200, total=1)


def test_a_narrow_terminal_cuts_the_name_of_the_case(monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing else of the line."""
    shown = on_terminal(monkeypatch, 80, make_order("Top", "a long name " * 10))
    lines = re.split(r"[\r\n]+", re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown))
    live = [line for line in lines if line.startswith("2 cases")]

    assert {80} == {len(line) for line in live}
    assert any("3 done · 1 failed" in line and "left · Top / a long" in line for line in live)


@pytest.mark.parametrize(
    "text", ["[red]x[/red]", ":b: :smile:", "1_000 'text' http://a", "x" * 300]
)
@pytest.mark.parametrize("columns", ["0", "120"])
def test_text_is_shown_as_it_is(
    text: str, columns: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Code and messages hold what looks like markup, and lines longer than a terminal.

    A width of no columns is none: as if it were not set.
    """
    monkeypatch.setenv("COLUMNS", columns)
    console.line(text)
    console.error(text)
    console.note(text)

    assert (f"{text}\n", f"{text}\n" * 2) == capsys.readouterr()
