"""The one module that prints: results to stdout, everything else to stderr."""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from instruction_counts.domain.errors import UsageError
from instruction_counts.report.visible import visible
from instruction_counts.system.program import program_name

if TYPE_CHECKING:
    from instruction_counts.execution.events import Event, Progress
    from instruction_counts.report.document import Document


def write(text: str) -> None:
    """Plain text to stdout, as it is; a terminal obeys nothing in it."""
    shown = visible(text) if sys.stdout.isatty() else text
    sys.stdout.write(shown if shown.endswith("\n") else shown + "\n")


def write_utf8(text: str) -> None:
    """A document to stdout as it is in a file: UTF-8, which it may say itself, in every locale."""
    if isinstance(sys.stdout, io.TextIOWrapper) and not sys.stdout.isatty():
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")
    write(text)


def error(text: str) -> None:
    """An error to stderr, in red on a terminal."""
    _remark(text, "red")


def failure(problem: Exception) -> None:
    """What went wrong, to stderr; a remedy calls the program by the name it was started with."""
    error(problem.text(program_name()) if isinstance(problem, UsageError) else str(problem))


def note(text: str) -> None:
    """A remark to stderr, that is no result."""
    _remark(text, "dim")


def _remark(text: str, style: str) -> None:
    if not sys.stderr.isatty():
        sys.stderr.write(f"{visible(text)}\n")  # no style, and so no need for rich
        return
    _rich(stderr=True).print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def line(text: str, style: str = "") -> None:
    """One line to stdout, wrapped by nobody."""
    _rich(stderr=False).print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def show(document: Document, limit: int | None = None) -> None:
    """A document to stdout, as wide as the terminal; in a pipe at least 80 columns.

    ``limit`` is how many rows of a long table are shown; 0 shows all, None what the table says.
    """
    from instruction_counts.report.renderers.terminal import lines  # noqa: PLC0415 - start-up

    console = _rich(stderr=False)
    width = console.width if console.is_terminal else max(console.width, 80)
    for text in lines(document, width, limit):
        console.print(text, highlight=False, soft_wrap=True)


@contextmanager
def progress(total: int) -> Iterator[Progress]:
    """One line that stays in its place, on a terminal; nothing of it goes into a pipe or a file."""
    if not sys.stderr.isatty():
        from instruction_counts.execution.events import Silent  # noqa: PLC0415 - start-up

        yield Silent()
        return
    from rich import progress as bars  # noqa: PLC0415 - start-up
    from rich.table import Column  # noqa: PLC0415 - start-up

    from instruction_counts.report.format import plural  # noqa: PLC0415 - start-up

    with bars.Progress(
        bars.TextColumn(plural(total, "case")),
        bars.BarColumn(bar_width=16),
        bars.TextColumn("{task.completed:.0f} done · {task.fields[failed]} failed"),
        bars.TimeRemainingColumn(),
        bars.TextColumn("left"),
        # Of a narrow terminal it gets what the others leave.
        bars.TextColumn(
            "· {task.fields[case]}",
            markup=False,
            table_column=Column(ratio=1, no_wrap=True, overflow="ellipsis"),
        ),
        expand=True,
        console=_rich(stderr=True),
        transient=True,
    ) as live:
        yield _LiveProgress(live, total)


class _LiveProgress:
    """What runs, what is done and failed, and above it what failed and why."""

    def __init__(self, live: Any, total: int) -> None:
        self._bars, self._failed = live, 0
        self._task = live.add_task("run", total=total, failed=0, case="starting")

    def show(self, event: Event) -> None:
        from instruction_counts.execution.events import Finished  # noqa: PLC0415 - start-up

        if not isinstance(event, Finished):
            self._bars.update(self._task, case=event.order.title)
            return
        outcome = event.outcome
        if outcome.status.is_failure:
            self._failed += 1
            reason = f": {outcome.failure.summary}" if outcome.failure is not None else ""
            text = f"{outcome.status.value}  {event.order.title}{reason}"
            self._bars.console.print(text, style="red", markup=False, highlight=False)
        self._bars.update(self._task, advance=1, failed=self._failed)


def _rich(*, stderr: bool) -> Any:
    from instruction_counts.report.renderers.terminal import TerminalConsole  # noqa: PLC0415 - start-up

    # A width of no columns is none for everyone else, and one that nothing fits for rich.
    no_columns = os.environ.get("COLUMNS") == "0"
    width = shutil.get_terminal_size().columns if no_columns else None
    # Code holds texts like ``:b:``, which must not become pictures; a notebook shows the same text.
    return TerminalConsole(stderr=stderr, width=width, emoji=False, force_jupyter=False)
