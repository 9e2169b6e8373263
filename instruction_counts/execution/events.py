"""What happens during a run, in the order in which it happens, and who learns of it."""

from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, TypeAlias

import attrs

from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.work import WorkOrder


@attrs.frozen
class Started:
    """A lane began with an order."""

    order: WorkOrder


@attrs.frozen
class Finished:
    """An order has its outcome, whatever that is."""

    order: WorkOrder
    outcome: Outcome


Event: TypeAlias = Started | Finished


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

    error = note

    def show(self, event: Event) -> None:
        """Show nothing."""

    def progress(self, total: int) -> AbstractContextManager[Progress]:
        """Begin to show nothing."""
        del total
        return nullcontext(self)
