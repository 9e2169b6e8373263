"""What wall times say of a case on two sides: beside the verdict by counts, never in its place."""

from __future__ import annotations

import enum
import math

import attrs

from instruction_counts.domain.outcomes import Times
from instruction_counts.domain.paired import PairedTimes
from instruction_counts.domain.records import Record

LEAST = 0.01
"""A difference of less than this share is none that is reported."""


class TimeVerdict(enum.Enum):
    """What is said of times that were taken in turns."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference above 1%"
    CANNOT_TELL = "cannot tell"


@attrs.frozen
class TimeChange:
    """The times of both sides, and the ratio of new to base with its interval.

    Where the builds were timed in turns, the interval is that of the rounds, at 99.9%. Where they
    were timed one after the other, it is bounded at 95%, cautiously, by the intervals of both
    medians; it speaks of the blocks of one process on either side, and two processes can differ by
    more: there is no verdict.
    """

    base_s: float
    new_s: float
    ratio: float
    low: float
    high: float
    paired: PairedTimes | None = None
    """What was timed in turns; None where the builds were not."""

    @property
    def relative(self) -> float:
        """By which share of base new takes longer."""
        return self.ratio - 1

    @property
    def half_width(self) -> float:
        """How far the ends of the interval are from its middle, as a share."""
        return math.sqrt(self.high / self.low) - 1 if self.low > 0 else math.inf

    @property
    def significant(self) -> bool:
        """Whether the interval does not hold 1."""
        return not self.low <= 1 <= self.high

    @property
    def verdict(self) -> TimeVerdict | None:
        """What is said of the case; None where the builds were not timed in turns."""
        if self.paired is None:
            return None
        if self.significant and self.ratio >= 1 + LEAST:
            return TimeVerdict.SLOWER
        if self.significant and self.ratio <= 1 / (1 + LEAST):
            return TimeVerdict.FASTER
        if self.low >= 1 / (1 + LEAST) and self.high <= 1 + LEAST:
            return TimeVerdict.NO_DIFFERENCE
        return TimeVerdict.CANNOT_TELL

    @property
    def reason(self) -> str:
        """Why it cannot be told, or by how much: ``+1.31% ± 0.42%``."""
        paired = self.paired
        if paired is not None and paired.interval is None:
            lost = f"{paired.disturbances.total} of {paired.pairs} pairs of blocks were disturbed"
            return f"{lost}, and {'1 round is' if paired.ratios else 'none is'} left"
        return f"{self.relative:+.2%} ± {self.half_width:.2%}"


def time_change(base: Record | None, new: Record | None) -> TimeChange | None:
    """The change of the wall times; None where a side has none."""
    if base is None or new is None:
        return None
    return _in_turns(base, new) or _one_after_the_other(base.outcome.times, new.outcome.times)


def _in_turns(base: Record, new: Record) -> TimeChange | None:
    paired = new.outcome.paired
    if paired is None or paired != base.outcome.paired or (base.build, new.build) != paired.builds:
        return None
    interval, times = paired.interval, (base.outcome.times, new.outcome.times)
    base_s, new_s = (found.median_s if found else 0.0 for found in times)
    if interval is None:
        return TimeChange(base_s, new_s, 1.0, 0.0, math.inf, paired)
    return TimeChange(base_s, new_s, interval.ratio, interval.low, interval.high, paired)


def _one_after_the_other(base: Times | None, new: Times | None) -> TimeChange | None:
    if base is None or new is None or not base.median_s or not new.median_s:
        return None
    (base_low, base_high), (new_low, new_high) = (
        times.median_bounds_s or (0.0, math.inf) for times in (base, new)
    )
    low = new_low / base_high if base_high else 0.0
    high = new_high / base_low if base_low else math.inf
    return TimeChange(base.median_s, new.median_s, new.median_s / base.median_s, low, high)
