"""Steps in a series of counts: where the level changed, whatever single measurements did.

The method is that of Fearnhead and Rigaill, "Changepoint Detection in the Presence of Outliers",
Journal of the American Statistical Association 114 (2019), 169-183: the best piecewise constant fit
under the biweight loss, found by dynamic programming over the level (their R-FPOP). A count that is
far from its level costs a constant, so that one outlier is never worth two steps, however far away
it lies. The penalty of a step is of the order of the Schwarz criterion, 2 log n.

Two things are particular to counts. The scale of noise is not estimated from the series: it is the
noise floor of each count, which was measured. And levels are sought among the counts themselves,
which makes the programme a minimum over a short list, in place of one over piecewise quadratics.
"""

import itertools
import math
import statistics
from collections.abc import Sequence
from typing import TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from instruction_counts.domain.effects import MIN_EFFECT, Effect

_Array: TypeAlias = npt.NDArray[np.float64]

ROUNDING = 2
"""Instructions by which two counts may differ only because each is rounded."""

_CAP = 4.0
"""Beyond so many standard deviations a count is an outlier, and costs no more (K in the paper)."""

_PENALTIES = (8.1, 15.9)
"""Bounds of the penalty. Above half of the squared cap, one count between two others is never two
steps; below all of it, two counts that agree are enough for a level."""


@attrs.frozen
class Level:
    """Consecutive counts that are the same but for noise and outliers."""

    start: int
    end: int
    """The position after its last count."""
    count: int
    """The median of those of its counts that are no outliers."""
    members: tuple[int, ...]
    """Positions of its counts but for outliers, which lie off by a noise floor and an effect."""


@attrs.frozen
class Step:
    """A change of the level, between the nearest two counts that agree with either."""

    before: int
    """Position of the last count of the old level; outliers may lie between it and ``after``."""
    after: int
    base: int
    """The old level."""
    new: int
    confirmed: bool
    """Whether at least two counts stand for the level on either side."""

    @property
    def change(self) -> int:
        """Instructions per iteration."""
        return self.new - self.base

    @property
    def relative(self) -> float:
        """The change, relative to the old level."""
        return self.change / self.base if self.base else math.inf


def levels(
    counts: Sequence[int], floors: Sequence[float], min_effect: Effect = MIN_EFFECT
) -> tuple[Level, ...]:
    """The levels of a series, in order; ``floors`` are the noise floors of the counts.

    Neighbouring levels differ by more than the noise floors of both, and by the minimum effect.
    """
    if not counts:
        return ()
    least = [max(floor, ROUNDING) for floor in floors]
    found = []
    for start, end, level in _merged(_starts(counts, least), counts, least, min_effect):
        members = []
        for place in range(start, end):
            off = counts[place] - level
            if abs(off) <= least[place] or not min_effect.is_reached(off, level):
                members.append(place)
        found.append(Level(start, end, level, tuple(members)))
    return tuple(found)


def steps_between(found: Sequence[Level]) -> tuple[Step, ...]:
    """The steps between levels."""
    return tuple(
        Step(
            before.members[-1],
            after.members[0],
            before.count,
            after.count,
            min(len(before.members), len(after.members)) > 1,
        )
        for before, after in itertools.pairwise(found)
    )


def _starts(counts: Sequence[int], floors: Sequence[float]) -> list[int]:
    """Where the segments of the best fit begin.

    ``costs`` holds, for each level, the least cost of the series so far if that is its last level,
    and ``begun`` where the segment of that fit began.
    """
    grid = np.unique(np.asarray(counts, dtype=np.float64))
    low, high = _PENALTIES
    penalty = min(max(2 * math.log(len(counts)), low), high)
    costs = np.zeros(len(grid))
    begun = np.zeros(len(grid), dtype=np.int64)
    best, starts = -penalty, []
    for place, (count, floor) in enumerate(zip(counts, floors, strict=True)):
        anew = best + penalty < costs
        costs = np.where(anew, best + penalty, costs) + _loss(count, floor, grid)
        begun = np.where(anew, place, begun)
        cheapest = int(np.argmin(costs))
        best = float(costs[cheapest])
        starts.append(int(begun[cheapest]))
    found, place = [], len(counts)
    while place:
        place = starts[place - 1]
        found.append(place)
    # One count between two segments is an outlier. The penalty nearly forbids it; what is left lies
    # beside a step, where it saves one of two.
    pairs = itertools.pairwise([*found[::-1], end := len(counts)])
    return [start for start, after in pairs if after - start > 1 or start == 0 or after == end]


def _loss(count: int, floor: float, grid: _Array) -> _Array:
    """The biweight loss of a count, for each level."""
    # A noise floor is a range: most of what is in it lies within two deviations.
    loss: _Array = np.minimum(((count - grid) / (floor / 2)) ** 2, _CAP**2)
    return loss


def _merged(
    starts: Sequence[int], counts: Sequence[int], floors: Sequence[float], least: Effect
) -> list[tuple[int, int, int]]:
    """Start, end and level of the segments, when those that noise alone could part are joined."""
    bounds = [*starts, len(counts)]
    while True:
        found = [
            (start, end, _level(counts[start:end], floors[start:end]))
            for start, end in itertools.pairwise(bounds)
        ]
        noise = [statistics.median(floors[start:end]) for start, end, _ in found]
        joined = []
        for place, ((_, _, before), (_, _, after)) in enumerate(itertools.pairwise(found), 1):
            change = abs(after - before)
            if change <= max(noise[place - 1 : place + 1]) or not least.is_reached(change, before):
                joined.append((change, place))
        if not joined:
            return found
        bounds.pop(min(joined)[1])


def _level(counts: Sequence[int], floors: Sequence[float]) -> int:
    """The median of the counts that stand for the level that is the best for all of them."""
    grid = np.unique(np.asarray(counts, dtype=np.float64))
    pairs = list(zip(counts, floors, strict=True))
    losses = sum(_loss(count, floor, grid) for count, floor in pairs)
    best = int(grid[int(np.argmin(losses))])
    return statistics.median_low(count for count, floor in pairs if abs(count - best) <= floor)
