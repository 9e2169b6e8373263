"""What times, estimated cycles and outputs say of a case on two sides.

They stand beside the verdict by counts; only another output takes its place.
"""

import base64
import enum
import math
from collections.abc import Iterator

import attrs

from instruction_counts.domain.outcomes import EstimatedCycles, Output, TensorValue, Times
from instruction_counts.domain.paired import LEAST_DIFFERENCE, PairedTimes, RatioInterval
from instruction_counts.domain.records import Record


class TimeVerdict(enum.Enum):
    """What is said of times that were taken in turns."""

    FASTER = "faster"
    SLOWER = "slower"
    NO_DIFFERENCE = "no difference above 1%"
    CANNOT_TELL = "cannot tell"


@attrs.frozen
class TimeChange:
    """The times of both sides, and the ratio of new to base with its interval.

    Where the builds were timed in turns, the interval is that of the rounds, at 99.9%; where
    further servers were asked, it holds those of all of them. Where the builds were timed one after
    the other, it is bounded at 95%, cautiously, by the intervals of both medians; it speaks of the
    blocks of one process on either side, and two processes can differ by more: there is no verdict.
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
        if self.paired.direction:
            return TimeVerdict.SLOWER if self.paired.direction > 0 else TimeVerdict.FASTER
        if self.low >= 1 / (1 + LEAST_DIFFERENCE) and self.high <= 1 + LEAST_DIFFERENCE:
            return TimeVerdict.NO_DIFFERENCE
        return TimeVerdict.CANNOT_TELL

    @property
    def reason(self) -> str:
        """Why it cannot be told, or by how much: ``+1.31% ± 0.42%``.

        Of several pairs of servers with both ends, as their mean is not in the middle.
        """
        paired = self.paired
        if paired is not None and paired.interval is None:
            lost = f"{paired.disturbances.total} of {paired.pairs} pairs of blocks were disturbed"
            return f"{lost}, and {'1 round is' if paired.ratios else 'none is'} left"
        change = f"{self.relative:+.2%} ± {self.half_width:.2%}"
        if paired is not None and paired.again:
            change = f"{self.relative:+.2%}, {self.low - 1:+.2%} to {self.high - 1:+.2%}"
        if paired is None or paired.direction or not (paired.again or paired.is_unconfirmed):
            return change
        what = "have not confirmed it" if paired.is_unconfirmed else "find something else"
        return f"{change}: fresh servers {what}"


def time_change(base: Record | None, new: Record | None) -> TimeChange | None:
    """The change of the wall times; None where a side has none."""
    if base is None or new is None:
        return None
    return _in_turns(base, new) or _one_after_the_other(base.outcome.times, new.outcome.times)


def _in_turns(base: Record, new: Record) -> TimeChange | None:
    paired = new.outcome.paired
    if paired is None or paired != base.outcome.paired or (base.build, new.build) != paired.builds:
        return None
    times = base.outcome.times, new.outcome.times
    base_s, new_s = (found.median_s if found else 0.0 for found in times)
    interval = paired.interval or RatioInterval(1.0, 0.0, math.inf)
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


_LEAST_CYCLES = 0.02
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
        if abs(self.relative) >= _LEAST_CYCLES and min(new) - max(base) > noise:
            return CyclesVerdict.MORE
        if abs(self.relative) >= _LEAST_CYCLES and min(base) - max(new) > noise:
            return CyclesVerdict.FEWER
        least, most = min(new) / (max(base) or 1), max(new) / (min(base) or 1)
        is_within = least >= 1 / (1 + _LEAST_CYCLES) and most <= 1 + _LEAST_CYCLES
        return CyclesVerdict.NO_DIFFERENCE if is_within else CyclesVerdict.CANNOT_TELL


def cycles_change(base: Record | None, new: Record | None) -> CyclesChange | None:
    """The change of the estimated cycles; None where a side has none, or of another machine."""
    before, after = (None if of is None else of.outcome.cycles for of in (base, new))
    if before is None or after is None or before.machine != after.machine:
        return None
    return CyclesChange(before, after)


_TOLERANCES = {
    "float16": (1e-3, 1e-5),
    "bfloat16": (1.6e-2, 1e-5),
    "float32": (1.3e-6, 1e-5),
    "float64": (1e-7, 1e-7),
    "complex32": (1e-3, 1e-5),
    "complex64": (1.3e-6, 1e-5),
    "complex128": (1e-7, 1e-7),
}
"""Relative and absolute tolerance by dtype: the defaults of ``torch.testing.assert_close``."""


@attrs.frozen
class OutputDifference:
    """What came of comparing two outputs."""

    differs: bool
    text: str = ""
    """How each tensor differs, or why nothing can be said; empty where all are the same."""


def compare_outputs(base: Output | None, new: Output | None) -> OutputDifference | None:
    """What differs between two outputs; None where one was not recorded.

    Values may differ by the rounding that torch's own tests allow. Of a large tensor a sample is
    compared, besides the digest of the whole.
    """
    if base is None or new is None:
        return None
    if not (base.repeatable and new.repeatable):
        return OutputDifference(differs=False, text="the output is not the same in every run")
    if base.inputs != new.inputs:
        return OutputDifference(differs=False, text="the setup made different inputs")
    text = "; ".join(_differences(base, new))
    return OutputDifference(bool(text), text)


def _differences(base: Output, new: Output) -> Iterator[str]:
    before, after = ({tensor.name: tensor for tensor in side.tensors} for side in (base, new))
    for name in {**before, **after}:
        was, now = before.get(name), after.get(name)
        if was is None or now is None:
            yield f"{name}: only in {'new' if was is None else 'base'}"
        elif text := _of_tensors(was, now):
            yield f"{name}: {text}"


def _of_tensors(base: TensorValue, new: TensorValue) -> str:
    for field, words in (("shape", "shape"), ("dtype", "dtype"), ("nans", "number of NaNs")):
        before, after = getattr(base, field), getattr(new, field)
        if before != after:
            return f"{words} {before} → {after}"
    distance = None if base.digest == new.digest else _distance(base, new)
    if distance is None:
        return ""
    return f"differs by up to {distance[0]:.3g} (relative {distance[1]:.3g})"


def _distance(base: TensorValue, new: TensorValue) -> tuple[float, float] | None:
    """How far two samples are apart, also relatively; None where they are within the tolerance."""
    import numpy as np  # noqa: PLC0415 - a list of cases starts without it

    with np.errstate(all="ignore"):  # what overflows is infinite
        was, now = (np.frombuffer(base64.b64decode(tensor.sample), "<f8") for tensor in (base, new))
        size = min(len(was), len(now))
        was, now = was[:size], now[:size]
        relative, absolute = _TOLERANCES.get(base.dtype, (0.0, 0.0))
        is_within = np.isclose(now, was, relative, absolute, equal_nan=True).all()
        if base.dtype in _TOLERANCES and is_within:
            return None
        differs = ~np.isclose(now, was, 0, 0, equal_nan=True)
        was, now = was[differs], now[differs]
        # A number and NaN are as far apart as can be, and not NaN, of which there is no largest.
        distances = np.nan_to_num(abs(was - now), nan=np.inf, posinf=np.inf)
        ratios = distances[was != 0] / np.where(np.isfinite(was), abs(was), 1)[was != 0]
        return float(distances.max(initial=0)), float(ratios.max(initial=0))
