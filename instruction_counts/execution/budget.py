"""A budget of time: what is most likely to have changed is measured first, as long as it lasts."""

from __future__ import annotations

import enum
import math
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.work import WorkOrder


@attrs.frozen
class Priorities:
    """What is known of cases before they are measured, by definition hash."""

    moves: Mapping[str, int] = attrs.field(factory=dict)
    """How often the count of a case moved from one build to the next, by more than noise."""
    functions: Mapping[str, frozenset[str]] = attrs.field(factory=dict)
    """The functions that a case executes."""
    known: frozenset[str] = frozenset()
    """Cases that were counted before."""
    durations_s: Mapping[str, float] = attrs.field(factory=dict)
    changed: frozenset[str] = frozenset()
    """Functions that changed where a count moved."""


class Likelihood(enum.IntEnum):
    """Why a case may have changed, the best reason first."""

    MOVED = 0
    SHARES = 1
    """It executes functions that changed elsewhere."""
    UNKNOWN = 2
    STEADY = 3


def most_likely_first(orders: Iterable[WorkOrder], priorities: Priorities) -> list[WorkOrder]:
    """``orders`` by how likely their case has changed; stable, so orders of a case stay together.

    First what moved before, the most often first; then what executes functions that changed, the
    more and the rarer ones first; then what was never counted; then the rest. What is equally
    likely is ordered by its duration, so that as many cases as possible fit.
    """
    telling = _telling(priorities)

    def rank(order: WorkOrder) -> tuple[Likelihood, float, float]:
        case = order.case.definition_hash
        likelihood, degree = _likelihood(case, priorities, telling)
        return likelihood, -degree, priorities.durations_s.get(case, math.inf)

    return sorted(orders, key=rank)


def _likelihood(
    case: str, priorities: Priorities, telling: Mapping[str, float]
) -> tuple[Likelihood, float]:
    if priorities.moves.get(case):
        return Likelihood.MOVED, priorities.moves[case]
    mine = priorities.functions.get(case, frozenset())
    shared = math.fsum(weight for name, weight in telling.items() if name in mine)
    if shared:
        return Likelihood.SHARES, shared
    return (Likelihood.STEADY if case in priorities.known else Likelihood.UNKNOWN), 0


def _telling(priorities: Priorities) -> dict[str, float]:
    """The changed functions that tell cases apart, with a weight: one that few execute says more.

    What most cases execute says nothing of where the others changed.
    """
    users = Counter(
        name
        for functions in priorities.functions.values()
        for name in functions & priorities.changed
    )
    return {
        name: 1 / number
        for name, number in users.items()
        if 2 * number <= len(priorities.functions)
    }


@attrs.define
class Budget:
    """So many seconds for the cases of a run; what has not started by then is left out.

    Lanes ask it for the order of what waits, anew whenever ``priorities`` is another object: what
    becomes known meanwhile changes the order of the rest.
    """

    limit_s: float
    priorities: Priorities = attrs.field(factory=Priorities)
    _clock: Callable[[], float] = time.monotonic
    _end: float = math.inf

    def begin(self) -> None:
        """From now on time is spent."""
        self._end = self._clock() + self.limit_s

    @property
    def is_used_up(self) -> bool:
        """Whether nothing more may start."""
        return self._clock() >= self._end

    @property
    def outcome(self) -> Outcome:
        """The outcome of what does not start."""
        return Outcome.out_of_time(self.limit_s)

    def learn(self, functions: Iterable[str]) -> None:
        """These functions changed; ``priorities`` stays the same object where all were known."""
        changed = self.priorities.changed.union(functions)
        if changed != self.priorities.changed:
            self.priorities = attrs.evolve(self.priorities, changed=changed)

    def in_order(self, orders: Sequence[WorkOrder]) -> list[WorkOrder]:
        """``orders``, the next one first."""
        return most_likely_first(orders, self.priorities)
