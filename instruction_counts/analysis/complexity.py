"""What counts over a range of sizes tell of the complexity of an operator."""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs
import numpy as np

from instruction_counts.sources.operators.sizes import LEAST_POINTS

_SLACK = 1e-3


@attrs.frozen
class Complexity:
    """How a cost grows with the size: ``overhead + per_unit * grown(size)``."""

    name: str
    power: int = 0
    logarithms: int = 0

    def grown(self, size: float) -> float:
        """How much has grown at a size; nothing where the cost is constant."""
        if not self.power and not self.logarithms:
            return 0.0
        return float(size**self.power * math.log2(size) ** self.logarithms)


COMPLEXITIES = (
    Complexity("1"),
    Complexity("log N", 0, 1),
    Complexity("N", 1),
    Complexity("N log N", 1, 1),
    Complexity("N²", 2),
    Complexity("N² log N", 2, 1),
    Complexity("N³", 3),
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
    if len(counts) < LEAST_POINTS:
        return None
    fits = [_fitted(complexity, counts) for complexity in COMPLEXITIES]
    best = min(fit.error for fit in fits)
    return next(fit for fit in fits if fit.error <= best + _SLACK)


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
