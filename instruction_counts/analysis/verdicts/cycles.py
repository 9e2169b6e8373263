"""What estimated cycles say of a case on two sides: beside the verdict by counts, as times do."""

from __future__ import annotations

import enum

import attrs

from instruction_counts.domain.cycles import EstimatedCycles
from instruction_counts.domain.records import Record

LEAST = 0.02
"""A difference of less than this share is none that is reported."""


class CyclesVerdict(enum.Enum):
    """What is said of estimated cycles."""

    FEWER = "fewer"
    MORE = "more"
    NO_DIFFERENCE = "no difference above 2%"
    CANNOT_TELL = "cannot tell"


@attrs.frozen
class CyclesChange:
    """The estimated cycles of both sides, on the same simulated machine."""

    base: EstimatedCycles
    new: EstimatedCycles

    @property
    def relative(self) -> float:
        """By which share of base new costs more: of the medians."""
        return self.new.median / (self.base.median or 1) - 1

    @property
    def verdict(self) -> CyclesVerdict:
        """As for counts in several layouts, with a larger least difference.

        It is a difference if all layouts of one side lie above all of the other, by more than
        either side moves on its own.
        """
        base, new = self.base.layouts, self.new.layouts
        noise = max(self.base.range, self.new.range)
        if abs(self.relative) >= LEAST and min(new) - max(base) > noise:
            return CyclesVerdict.MORE
        if abs(self.relative) >= LEAST and min(base) - max(new) > noise:
            return CyclesVerdict.FEWER
        least, most = min(new) / (max(base) or 1), max(new) / (min(base) or 1)
        is_within = least >= 1 / (1 + LEAST) and most <= 1 + LEAST
        return CyclesVerdict.NO_DIFFERENCE if is_within else CyclesVerdict.CANNOT_TELL


def cycles_change(base: Record | None, new: Record | None) -> CyclesChange | None:
    """The change of the estimated cycles; None where a side has none, or of another machine."""
    before, after = (None if of is None else of.outcome.cycles for of in (base, new))
    if before is None or after is None or before.machine != after.machine:
        return None
    return CyclesChange(before, after)
