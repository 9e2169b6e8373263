"""Estimated cycles of a case, as a simulation of caches and branches found them: never exact."""

from __future__ import annotations

import statistics

import attrs

from instruction_counts.domain.bounds import Count


@attrs.frozen
class EstimatedCycles:
    """Of one iteration, in several memory layouts, which move them."""

    machine: str
    """The caches that were simulated: with others, cycles are not comparable."""
    layouts: tuple[Count, ...]
    """Cycles in each layout."""

    def __attrs_post_init__(self) -> None:
        """Refuse cycles of no layout."""
        if not self.layouts:
            raise ValueError("cycles in at least one layout")

    @property
    def median(self) -> float:
        """The cycles that are reported."""
        return statistics.median(self.layouts)

    @property
    def range(self) -> int:
        """By how much the layouts differ."""
        return max(self.layouts) - min(self.layouts)
