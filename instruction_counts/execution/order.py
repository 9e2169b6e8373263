"""The order of work: long cases first, so that the lanes end together; or what fits in a budget.

How long a case takes is known from the last time it ran on this machine. What is not known comes
first: it may have to be compiled, and that takes longest.
"""

from __future__ import annotations

import contextlib
import json
import math
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import attrs

from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.work import WorkOrder
from instruction_counts.system.files import locked, write_atomically


def longest_first(orders: Sequence[WorkOrder], durations_s: Mapping[str, float]) -> list[WorkOrder]:
    """``orders`` by falling duration, with ``durations_s`` by definition hash; stable."""
    return sorted(
        orders,
        key=lambda order: -durations_s.get(order.case.definition_hash, float("inf")),
    )


def read_durations(path: Path) -> dict[str, float]:
    """What was noted before; nothing where there is no file, or no usable one."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        found = {str(key): float(value) for key, value in data.items()}
    except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return {}
    return found if all(map(math.isfinite, found.values())) else {}


def note_durations(path: Path, durations_s: Mapping[str, float]) -> None:
    """Add how long cases took, by definition hash; others may add theirs at the same time.

    What cannot be written is not remembered: it costs an order of work, and no run.
    """
    with contextlib.suppress(OSError), locked(path):
        known = {**read_durations(path), **durations_s}
        write_atomically(path, json.dumps(known, allow_nan=False))


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
