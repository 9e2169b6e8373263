"""One operator over a range of sizes: the shapes, and what the counts tell of its complexity."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence

import attrs
import numpy as np

from core.errors import quoted
from instruction_counts.errors import UsageError
from instruction_counts.operators.entries import Entry, Shape, Tensor, at

SIZE = "N"
"""What stands for the size in a shape."""
_SLACK = 1e-3
_LEAST_POINTS = 4
_MOST_ELEMENTS = 2**28
_MOST_DIMENSIONS = 64
_PART = re.compile(rf"{SIZE}|[0-9]{{1,18}}")  # what fits into torch's sizes

Template = tuple[int | str, ...]


@attrs.frozen
class Complexity:
    """How a cost grows with the size: ``overhead + per_unit * grown(size)``."""

    name: str
    grown: Callable[[float], float] = attrs.field(eq=False)


COMPLEXITIES = (
    Complexity("1", lambda _: 0.0),
    Complexity("log N", math.log2),
    Complexity("N", lambda size: size),
    Complexity("N log N", lambda size: size * math.log2(size)),
    Complexity("N²", lambda size: size**2),
    Complexity("N² log N", lambda size: size**2 * math.log2(size)),
    Complexity("N³", lambda size: size**3),
)
"""Simplest first."""


@attrs.frozen
class Fit:
    """The complexity that describes the counts best.

    ``error`` is the root mean square of the relative residuals. ``work_begins`` is the size at
    which the work equals the overhead: None where there is no work, or no overhead.
    """

    complexity: Complexity
    overhead: float
    per_unit: float
    error: float
    work_begins: float | None

    def at(self, size: float) -> float:
        """What the fit says of a size."""
        return self.overhead + self.per_unit * self.complexity.grown(size)


def fit(counts: Mapping[int, int]) -> Fit | None:
    """The complexity of counts by size; None for fewer than four sizes.

    Least squares of the relative residuals for each complexity, with neither overhead nor work
    below zero; the smallest root mean square wins, and of those within 0.1 percentage points of it
    the simplest. The method is that of Google Benchmark's complexity reports, but for the constant
    and the relative weights: counts span many orders of magnitude.
    """
    if len(counts) < _LEAST_POINTS:
        return None
    fits = [_fitted(one, counts) for one in COMPLEXITIES]
    best = min(one.error for one in fits)
    return next(one for one in fits if one.error <= best + _SLACK)


def _fitted(complexity: Complexity, counts: Mapping[int, int]) -> Fit:
    sizes = list(counts)
    measured = np.array([counts[size] for size in sizes], dtype=float)
    grown = np.array([complexity.grown(size) for size in sizes], dtype=float)
    options = []
    for terms in ((1, 1), (1, 0), (0, 1)):
        columns = np.stack([np.full(len(sizes), float(terms[0])), terms[1] * grown], axis=1)
        solved = np.linalg.lstsq(columns / measured[:, None], np.ones(len(sizes)), rcond=None)[0]
        overhead, per_unit = float(solved[0]) * terms[0], float(solved[1]) * terms[1]
        residuals = (overhead + per_unit * grown) / measured - 1
        if overhead >= 0 and per_unit >= 0:
            options.append((float(np.sqrt(np.mean(residuals**2))), overhead, per_unit))
    error, overhead, per_unit = min(options)
    return Fit(complexity, overhead, per_unit, error, _crossing(complexity, overhead, per_unit))


def _crossing(complexity: Complexity, overhead: float, per_unit: float) -> float | None:
    """Where work equals overhead, by bisection: what grows is monotonic above 1."""
    if overhead <= 0 or per_unit <= 0:
        return None
    low, high = 1.0, 2.0**60
    if per_unit * complexity.grown(high) < overhead:
        return None
    while high / low > 1 + 1e-6:
        middle = math.sqrt(low * high)
        if per_unit * complexity.grown(middle) < overhead:
            low = middle
        else:
            high = middle
    return high


# ---------------------------------------------------------------------------------------------
# Shapes
# ---------------------------------------------------------------------------------------------


def usual_sizes(templates_: Mapping[str, Template]) -> tuple[int, ...]:
    """A range whose largest tensors are of about 65,536 elements, whatever the shapes."""
    times = max(shape.count(SIZE) for shape in templates_.values())
    return sizes_in({1: "16:65536", 2: "4:256:2"}.get(times, "2:32:2"))


def check_sizes(templates_: Mapping[str, Template], sizes: Sequence[int]) -> None:
    """Refuse sizes at which a tensor would not fit into memory together with others.

    Raises:
        UsageError: a tensor would have more than 2^28 elements (1 GiB of float32).
    """
    for name, shape in at_size(templates_, max(sizes)).items():
        if math.prod(shape) > _MOST_ELEMENTS:
            raise UsageError(
                f"{name} would have {math.prod(shape):,} elements at N = {max(sizes):,}",
                f"At most {_MOST_ELEMENTS:,}: narrow --sizes.",
            )


def sizes_in(text: str) -> tuple[int, ...]:
    """``16:65536`` is powers of four, ``16:65536:2`` of two; ``16,100,1000`` is just these.

    Raises:
        UsageError: the text has another form, or a size at which no tensor fits into memory.
    """
    parts = text.split(":")
    try:
        if len(parts) == 1:
            found = tuple(int(part) for part in text.split(","))
        else:
            low, high, factor = (int(part) for part in [*parts, "4"][:3])
            if factor < 2 or not 1 <= low <= high <= _MOST_ELEMENTS:
                raise ValueError(text)
            steps = math.floor(math.log(high / low, factor) + 1e-9)
            found = tuple(low * factor**step for step in range(steps + 1))
    except ValueError:
        found = ()
    is_range = bool(found) and len(parts) <= 3 and sorted(set(found)) == list(found)
    if not is_range or not 1 <= found[0] <= found[-1] <= _MOST_ELEMENTS:
        raise UsageError(
            f"--sizes {quoted(text)} is no range of sizes from 1 to {_MOST_ELEMENTS:,}",
            "For example: 16:65536, 16:4096:2 or 10,100",
        )
    return found


def templates(entry: Entry, asked: Sequence[str]) -> dict[str, Template]:
    """The shape of each input with ``N`` in it: as asked, or else as the entry suggests.

    Without being asked, every size that equals the first one of the first input grows with it, so
    that shapes that belong together keep doing so.

    Raises:
        UsageError: a template has another form, names no input or one that another names, or
            there is no ``N`` anywhere.
    """
    tensors = {name: one for name, one in entry.inputs.items() if isinstance(one, Tensor)}
    found: dict[str, Template] = {}
    for text in asked:
        name, shape = _template(text, entry, tensors)
        if name in found:
            raise UsageError(f"--scale {name} is there twice", "Give each input one shape.")
        found[name] = shape
    if not asked:
        variant = "typical" if "typical" in entry.variants else entry.variants[0]
        shapes = {name: at(one.shape, variant) for name, one in tensors.items()}
        first = next((shape[0] for shape in shapes.values() if shape), None)
        found = {
            name: tuple(SIZE if size == first else size for size in shape)
            for name, shape in shapes.items()
        }
    if not any(SIZE in shape for shape in found.values()):
        known = ", ".join(tensors)
        raise UsageError(
            f"{entry.name} has no shape that could grow",
            f"Say which of {known}: --scale '{next(iter(tensors))}=[{SIZE},64]'"
            if tensors
            else "None of its arguments is a single tensor.",
        )
    return {name: shape for name, shape in found.items() if SIZE in shape or asked}


def _template(text: str, entry: Entry, tensors: Mapping[str, Tensor]) -> tuple[str, Template]:
    name, _, shape = text.partition("=")
    parts = [part.strip() for part in shape.strip().removeprefix("[").removesuffix("]").split(",")]
    if name not in tensors:
        raise UsageError(
            f'--scale {name}: {entry.name} has no tensor "{name}"',
            f"It has {', '.join(tensors) or 'none'}.",
        )
    if len(parts) > _MOST_DIMENSIONS or not all(map(_PART.fullmatch, parts)):
        raise UsageError(f"--scale {quoted(text)} is no shape", f"For example: input=[{SIZE},64]")
    return name, tuple(SIZE if part == SIZE else int(part) for part in parts)


def at_size(templates_: Mapping[str, Template], size: int) -> dict[str, Shape]:
    """The shapes with a size in place of ``N``."""
    return {
        name: tuple(size if isinstance(one, str) else one for one in shape)
        for name, shape in templates_.items()
    }
