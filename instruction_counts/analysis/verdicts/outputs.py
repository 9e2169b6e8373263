"""Did both builds compute the same? Outputs side by side, as far as they were recorded."""

from __future__ import annotations

import array
import base64
import math
import sys
from collections.abc import Iterator

import attrs

from instruction_counts.domain.outcomes import Output, TensorValue

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
class TensorDifference:
    """How one tensor differs: in words, and by how much where that is known."""

    name: str
    what: str
    largest_absolute: float = 0.0
    largest_relative: float = 0.0


@attrs.frozen
class OutputDifference:
    """What came of comparing two outputs."""

    differs: bool
    tensors: tuple[TensorDifference, ...] = ()
    unknown: str = ""
    """Why nothing can be said; empty where something can."""

    @property
    def text(self) -> str:
        """One line."""
        if self.unknown:
            return self.unknown
        return "; ".join(f"{tensor.name}: {tensor.what}" for tensor in self.tensors)


def compare_outputs(base: Output | None, new: Output | None) -> OutputDifference | None:
    """What differs between two outputs; None where one was not recorded.

    Values may differ by the rounding that torch's own tests allow. Of a large tensor a sample is
    compared, besides the digest of the whole.
    """
    if base is None or new is None:
        return None
    if not (base.repeatable and new.repeatable):
        return OutputDifference(differs=False, unknown="the output is not the same in every run")
    if base.inputs != new.inputs:
        return OutputDifference(differs=False, unknown="the setup made different inputs")
    found = tuple(_differences(base, new))
    return OutputDifference(differs=bool(found), tensors=found)


def _differences(base: Output, new: Output) -> Iterator[TensorDifference]:
    before = {tensor.name: tensor for tensor in base.tensors}
    after = {tensor.name: tensor for tensor in new.tensors}
    for name in dict.fromkeys([*before, *after]):
        was, now = before.get(name), after.get(name)
        if was is None or now is None:
            yield TensorDifference(name, f"only in {'new' if was is None else 'base'}")
        else:
            yield from _of_tensors(was, now)


def _of_tensors(base: TensorValue, new: TensorValue) -> Iterator[TensorDifference]:
    for what in ("shape", "dtype", "nans"):
        before, after = getattr(base, what), getattr(new, what)
        if before != after:
            yield TensorDifference(base.name, f"{_WORDS[what]} {before} → {after}")
            return
    if base.digest == new.digest:
        return
    exact = base.dtype not in _TOLERANCES
    relative, absolute = _TOLERANCES.get(base.dtype, (0.0, 0.0))
    pairs = list(zip(_values(base), _values(new), strict=False))
    by = [(_distance(base, other), abs(base)) for base, other in pairs if not _same(base, other)]
    outside = any(not _within(distance, absolute + relative * size) for distance, size in by)
    if outside or exact:
        largest = max((distance for distance, _ in by), default=0.0)
        ratio = max((_ratio(distance, size) for distance, size in by if size), default=0.0)
        what = f"differs by up to {largest:.3g} (relative {ratio:.3g})"
        yield TensorDifference(base.name, what, largest, ratio)


_WORDS = {"shape": "shape", "dtype": "dtype", "nans": "number of NaNs"}


def _same(base: float, other: float) -> bool:
    return (math.isnan(base) and math.isnan(other)) or base == other


def _distance(base: float, other: float) -> float:
    # Between a number and NaN it is as far as can be, and not NaN, of which there is no largest.
    distance = abs(base - other)
    return math.inf if math.isnan(distance) else distance


def _within(distance: float, bound: float) -> bool:
    # A tolerance relative to an infinite value is infinite itself, and would let anything pass.
    return math.isfinite(distance) and distance <= bound


def _ratio(distance: float, size: float) -> float:
    return distance / size if math.isfinite(distance) else math.inf


def _values(tensor: TensorValue) -> array.array[float]:
    values = array.array("d", base64.b64decode(tensor.sample))
    if sys.byteorder == "big":
        values.byteswap()
    return values
