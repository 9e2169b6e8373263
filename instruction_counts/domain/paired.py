"""Wall times of a case on two builds that were timed in turns."""

import enum
import math
from collections.abc import Sequence
from typing import Annotated

import attrs

from instruction_counts.domain.bounds import Bounds, Count, Positive, Seconds

CONFIDENCE = 0.999
"""Of the interval of a ratio: a comparison has hundreds of cases, and all may be the same."""
LEAST_DIFFERENCE = 0.01
"""A difference of less than this share is none that is reported."""
SERVERS = 3
"""Further pairs of servers that have to find a difference again.

All rounds have the memory of one server of each build, which moves light cases by up to 2.3%."""
_FAR_BEYOND = 0.05
"""A difference of so much is no matter of that memory."""


class Stopped(enum.Enum):
    """Why no further round was timed."""

    NARROW = "the interval was narrow enough"
    BUDGET = "the budget was spent"


@attrs.frozen
class RatioInterval:
    """A ratio of times, new to base, and where it lies with a probability of `CONFIDENCE`."""

    ratio: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """How far its ends are from its middle, as a share."""
        return math.sqrt(self.high / self.low) - 1

    @property
    def direction(self) -> int:
        """1 where new is slower, -1 where it is faster, by `LEAST_DIFFERENCE` or more; else 0."""
        if self.low > 1 and self.ratio >= 1 + LEAST_DIFFERENCE:
            return 1
        return -1 if self.high < 1 and self.ratio <= 1 / (1 + LEAST_DIFFERENCE) else 0


@attrs.frozen
class Disturbances:
    """Pairs of blocks that were left out, by what disturbed them."""

    preempted: Count = 0
    """Another process ran on the core meanwhile."""
    major_faults: Count = 0
    """A page had to be read from disk."""
    stolen: Count = 0
    """The hypervisor took the core away."""

    @property
    def total(self) -> int:
        """All of them."""
        return sum(attrs.astuple(self))


@attrs.frozen
class PairedTimes:
    """Rounds of blocks, by turns on ``base`` and on ``new``; each round in two new processes.

    The tuples have an entry for each round that is used.
    """

    base: str
    """The name of the build."""
    new: str
    runs: Positive
    """Iterations in a block."""
    ratios: tuple[Annotated[float, Bounds(above=0)], ...]
    """New to base: the median over the pairs of blocks of the round."""
    base_s: tuple[Seconds, ...]
    """Of an iteration: the median of the blocks of the round."""
    new_s: tuple[Seconds, ...]
    seed: Count
    """Of the order in which builds take turns."""
    pairs: Count
    """Pairs of blocks that were timed, those that were left out included."""
    stopped: Stopped
    disturbances: Disturbances = Disturbances()
    rounds_left_out: Count = 0
    """Rounds of which too few pairs were undisturbed."""
    load: Annotated[float, Bounds(0)] = 0.0
    """How many processes wanted to run in the minute before, on average."""
    governor: str = ""
    """What decided how fast the core ran; empty where that cannot be read, as for ``clock_khz``."""
    clock_khz: tuple[Count, ...] = ()
    """How fast it ran at the end of each round; 0 where that cannot be read."""
    again: tuple[tuple[Annotated[float, Bounds(above=0)], ...], ...] = ()
    """The ratios of rounds in further servers, a tuple for each pair, where they were asked."""

    @property
    def builds(self) -> tuple[str, str]:
        """The names of base and new."""
        return self.base, self.new

    @property
    def interval(self) -> RatioInterval | None:
        """The interval of the ratio; None where there are fewer than two rounds.

        Of several pairs of servers it is the mean of their ratios, and holds all their intervals.
        """
        known = [ratio_interval(ratios) for ratios in (self.ratios, *self.again)]
        found = [interval for interval in known if interval is not None]
        if len(found) < len(known):
            return ratio_interval(self.ratios)
        logs = [math.log(interval.ratio) for interval in found]
        low, high = min(each.low for each in found), max(each.high for each in found)
        return RatioInterval(math.exp(math.fsum(logs) / len(logs)), low, high)

    @property
    def direction(self) -> int:
        """1 where new is slower, -1 where it is faster, as all servers agree; else 0."""
        return self._agreed if len(self.again) == SERVERS or self._is_far_beyond else 0

    @property
    def is_unconfirmed(self) -> bool:
        """Whether there is a difference that further servers have to find again."""
        return bool(self._agreed) and len(self.again) < SERVERS and not self._is_far_beyond

    @property
    def _is_far_beyond(self) -> bool:
        interval = ratio_interval(self.ratios)
        return interval is not None and abs(math.log(interval.ratio)) >= math.log(1 + _FAR_BEYOND)

    @property
    def _agreed(self) -> int:
        """The direction that all pairs of servers have, each for itself; else 0."""
        known = (ratio_interval(ratios) for ratios in (self.ratios, *self.again))
        directions = {0 if interval is None else interval.direction for interval in known}
        return directions.pop() if len(directions) == 1 else 0


def ratio_interval(ratios: Sequence[float]) -> RatioInterval | None:
    """Student's interval of the mean of the logarithms of ``ratios``, as ratios again.

    A round is one observation: two processes differ by more than the blocks of one (Kalibera and
    Jones, Rigorous Benchmarking in Reasonable Time, ISMM 2013).
    """
    if len(ratios) < 2:
        return None
    from scipy.special import stdtrit  # noqa: PLC0415 - a fifth of a second, and seldom needed

    logs = [math.log(ratio) for ratio in ratios]
    mean = math.fsum(logs) / len(logs)
    variance = math.fsum((log - mean) ** 2 for log in logs) / (len(logs) - 1)
    quantile = float(stdtrit(len(logs) - 1, (1 + CONFIDENCE) / 2))
    half = quantile * math.sqrt(variance / len(logs))
    return RatioInterval(math.exp(mean), math.exp(mean - half), math.exp(mean + half))
