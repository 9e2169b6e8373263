"""Who learns what happens while a use case runs; the command line shows it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Protocol

from instruction_counts.execution.events import Event


class Progress(Protocol):
    """Takes the events of a run, one by one."""

    def show(self, event: Event) -> None:
        """Show one event."""


class Observer(Protocol):
    """Takes remarks, errors and events; a use case itself prints nothing."""

    def note(self, text: str) -> None:
        """Report a remark that is not a result."""

    def error(self, text: str) -> None:
        """Report a problem after which the use case goes on."""

    def progress(self, total: int) -> AbstractContextManager[Progress]:
        """Begin to show the events of ``total`` orders."""


class Silent:
    """An observer for programs: it shows nothing."""

    def note(self, text: str) -> None:
        """Show nothing."""

    def error(self, text: str) -> None:
        """Show nothing."""

    @contextmanager
    def progress(self, total: int) -> Iterator[Progress]:
        """Begin to show nothing."""
        del total
        yield _NoProgress()


class _NoProgress:
    def show(self, event: Event) -> None:
        """Show nothing."""
