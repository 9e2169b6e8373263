"""Wall times side by side: the change of the median, and how sure that is."""

from __future__ import annotations

import math

import attrs

from instruction_counts.domain.outcomes import Times


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
        times.median_bounds_s or (0.0, math.inf) for times in (base, new)
    )
    low = new_low / base_high if base_high else 0.0
    high = new_high / base_low if base_low else math.inf
    return TimeChange(base.median_s, new.median_s, low, high)
