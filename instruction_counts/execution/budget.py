"""A budget of time: what most likely changed is measured first, as long as the time lasts."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Mapping

import attrs

from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.work import WorkOrder


@attrs.define
class Budget:
    """So many seconds for the cases of a run; what has not started by then is skipped.

    What is known of cases is by their definition hash.
    """

    limit_s: float
    moves: Mapping[str, int] = attrs.field(factory=dict)
    """How often the count of a case moved from one build to another."""
    known: frozenset[str] = frozenset()
    """Cases that were counted before."""
    durations_s: Mapping[str, float] = attrs.field(factory=dict)
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

    def in_order(self, orders: Iterable[WorkOrder]) -> list[WorkOrder]:
        """``orders``, the next one first; those of one case stay together.

        First what moved before, the most often first, then what was never counted, then the rest.
        What is equally likely to have changed is ordered by its duration, so that as many cases as
        possible fit.
        """

        def rank(order: WorkOrder) -> tuple[int, bool, float]:
            case = order.case.definition_hash
            duration_s = self.durations_s.get(case, math.inf)
            return -self.moves.get(case, 0), case in self.known, duration_s

        return sorted(orders, key=rank)
