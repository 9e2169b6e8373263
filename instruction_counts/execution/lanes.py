"""Where cases are measured: the seam between the order of work and the machine that does it.

A lane measures one case at a time. `instruction_counts.execution.scheduler` decides which case is
next, and waits for its outcome in a thread for each lane; whether the lane is a core of this
machine or of another one is known here alone. A further kind of lanes is a file with an entry, and
one line in `instruction_counts.execution.local_lanes`.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Protocol, TypeAlias

import attrs

from instruction_counts.builds.probing import BuildFacts
from instruction_counts.domain.build import Build, Fingerprint
from instruction_counts.domain.outcomes import Machine, Outcome
from instruction_counts.domain.records import ChangedFiles
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Notice, Profile

Measure: TypeAlias = Callable[[WorkOrder], Outcome]
"""Measures one order on the lane that it belongs to; never raises for what the case does."""


class Lanes(Protocol):
    """Lanes that are open for the builds of a run; called from several threads.

    They are alike: a build has one fingerprint, whichever of them measures it. A class that has
    this one as its base need not have the methods that do nothing for it.
    """

    @property
    def number(self) -> int:
        """How many cases are measured at a time."""

    @property
    def widest(self) -> int:
        """The most contiguous cores that a case can have; one that needs more is refused."""

    @property
    def fingerprints(self) -> Mapping[str, Fingerprint]:
        """What is measured, by the name of the build, as far as it is known by now."""

    def check(self, orders: Sequence[WorkOrder]) -> None:
        """Find out whether ``orders`` can be carried out, before any is.

        Raises:
            BuildError: an engine cannot start; the error names the reason and the remedy.
        """
        del orders

    def start(self, orders: Sequence[WorkOrder]) -> None:
        """Begin to get ready for ``orders``; returns at once."""
        del orders

    def lane(
        self, orders: Sequence[WorkOrder], is_cancelled: Callable[[], bool]
    ) -> AbstractContextManager[Measure | None]:
        """Wait for a lane for the orders of a case, and have it; None once ``is_cancelled``.

        They are measured in their order. What `start` began, and would disturb them, is waited for.
        """

    def changed_files(self) -> dict[str, ChangedFiles]:
        """Files that changed since their build was probed, by its name; without those of none."""

    def machine(self) -> Machine:
        """What one core can do; it takes seconds."""

    def close(self) -> None:
        """End every process; from any thread, also while lanes measure."""
        return


@attrs.frozen
class Opening:
    """What lanes are opened for."""

    engine: str
    facts: tuple[BuildFacts, ...]
    profile: Profile
    jobs: int | None = None
    """How many lanes; None is one for each core."""
    cores: str | None = None
    """The cores to use, such as ``0-1,3``; None is all that are available."""
    notice: Notice = lambda _: None


@attrs.frozen
class LanesEntry:
    """A kind of lanes, as it is registered."""

    name: str
    probe: Callable[[Build, float], BuildFacts] = attrs.field(eq=False, repr=False)
    """Asks a build what it is, where it will be measured, within so many seconds.

    It raises BuildError where the build cannot be used.
    """
    open: Callable[[Opening], Lanes] = attrs.field(eq=False, repr=False)
    """Opens lanes; raises BuildError or UsageError, with the remedy, where that cannot be done."""
