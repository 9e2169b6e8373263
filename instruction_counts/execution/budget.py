"""A budget of time: what has not started when it is used up does not start."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import attrs

from instruction_counts.domain.outcomes import Outcome


@attrs.define
class Budget:
    """So many seconds for the cases of a run; what has not started by then is skipped."""

    limit_s: float
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
