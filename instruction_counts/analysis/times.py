"""Wall times side by side: the change of the median, and how sure that is."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence

import attrs

from instruction_counts.domain.outcomes import Times

_CONFIDENCE = 0.95
_MANY = 500


@attrs.frozen
class TimeChange:
    """The ratio of the medians (new to base) with its confidence interval.

    ``low`` and ``high`` bound the ratio at 95%, from the intervals of both medians, and so
    cautiously. They speak of the blocks of one process on either side; two processes can differ by
    more.
    """

    base_s: float
    new_s: float
    low: float
    high: float

    @property
    def ratio(self) -> float:
        """New to base."""
        return self.new_s / self.base_s

    @property
    def significant(self) -> bool:
        """Whether the intervals of the two medians do not overlap."""
        return not self.low <= 1 <= self.high


def time_change(base: Times | None, new: Times | None) -> TimeChange | None:
    """The change from ``base`` to ``new``; None where one was not timed."""
    if base is None or new is None or not base.median_s or not new.median_s:
        return None
    (base_low, base_high), (new_low, new_high) = (
        median_interval(times.values_s) for times in (base, new)
    )
    low = new_low / base_high if base_high else 0.0
    high = new_high / base_low if base_low else math.inf
    return TimeChange(base.median_s, new.median_s, low, high)


def median_interval(values: Sequence[float]) -> tuple[float, float]:
    """A confidence interval of the median, from order statistics: no distribution is assumed.

    The number of values below the median is binomial with p = 1/2 (Conover, Practical Nonparametric
    Statistics, section 3.2). With fewer than six values there is no interval at 95%: then it is
    everything.
    """
    count = len(values)
    outside = _values_outside(count)
    if not outside:
        return 0.0, math.inf
    ordered = sorted(values)
    return ordered[outside - 1], ordered[count - outside]


@functools.cache
def _values_outside(count: int) -> int:
    """How many of ``count`` values may be on the outer side of either bound, the bound included."""
    if count > _MANY:  # where the normal distribution tells the same
        deviations = statistics.NormalDist().inv_cdf((1 + _CONFIDENCE) / 2)
        return math.floor((count - deviations * math.sqrt(count)) / 2)
    outside, tail = 0, 0.5**count
    while 2 * tail <= 1 - _CONFIDENCE:
        outside += 1
        tail += math.comb(count, outside) * 0.5**count
    return outside
