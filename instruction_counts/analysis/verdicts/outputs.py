"""Did both builds compute the same? Outputs side by side, as far as they were recorded."""

from __future__ import annotations

import base64
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
