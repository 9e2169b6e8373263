"""The interval in which the median of few values lies, without assuming how they are spread."""

from __future__ import annotations

import functools
import math
import statistics
from collections.abc import Sequence

_CONFIDENCE = 0.95
_MANY = 500


def median_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """A confidence interval of the median, from order statistics: no distribution is assumed.

    The number of values below the median is binomial with p = 1/2 (Conover, Practical Nonparametric
    Statistics, section 3.2). With fewer than six values there is none at 95%.
    """
    count = len(values)
    outside = _values_outside(count)
    if not outside:
        return None
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
