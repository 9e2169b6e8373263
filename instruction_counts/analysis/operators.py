"""What is known of operators: forward and backward apart, rates, and complexity over sizes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from instruction_counts.core.facts import Operator
from instruction_counts.core.types import AutogradMode, CaseKey
from instruction_counts.domain.metrics import FLOPS, MOVED_BYTES, NO_AMOUNTS, Amounts
from instruction_counts.domain.outcomes import Instructions, Times
from instruction_counts.domain.records import Identity, Record
from instruction_counts.sources.operators.sizes import LEAST_POINTS


@attrs.frozen
class Metrics:
    """One operator in one language and runtime.

    The backward pass cannot run alone, so ``backward`` is the difference of two measured cases:
    forward and backward together, less forward.
    """

    key: CaseKey
    """Of the forward pass."""
    build: str
    instructions: Instructions | None = None
    times: Times | None = None
    backward_instructions: int | None = None
    backward_exact: bool = True
    backward_s: float | None = None
    """Difference of medians."""
    used: Amounts = NO_AMOUNTS
    """Of the eager Python case: what is allocated and computed is the same in every language."""

    @property
    def bytes_per_s(self) -> float | None:
        """Achieved bandwidth: the bytes that have to be moved, over the median time."""
        return self._per_second(self.used.get(MOVED_BYTES.name))

    @property
    def flops_per_s(self) -> float | None:
        """Achieved floating point operations in a second."""
        return self._per_second(self.used.get(FLOPS.name))

    def _per_second(self, amount: float | None) -> float | None:
        if amount is None or self.times is None or not self.times.median_s:
            return None
        return amount / self.times.median_s


def metrics_of(records: Iterable[Record]) -> Iterator[Metrics]:
    """The metrics of all operators among ``records`` whose forward pass is there, in their order.

    Without it there is nothing to tell apart: see `without_metrics`.
    """
    operators = _operators(records)
    forward = {
        (build, key): record.outcome
        for (build, key), record in operators.items()
        if key.autograd is AutogradMode.FORWARD
    }
    used = {
        (build, key.label): outcome.metrics
        for (build, key), outcome in forward.items()
        if outcome.resources_reason is not None
    }
    for (build, key), outcome in forward.items():
        counted, times = outcome.instructions, outcome.times
        metrics = Metrics(key, build, counted, times, used=used.get((build, key.label), NO_AMOUNTS))
        both = operators.get((build, attrs.evolve(key, autograd=AutogradMode.FORWARD_BACKWARD)))
        both_counted = both.outcome.instructions if both else None
        if counted is not None and both_counted is not None:
            metrics = attrs.evolve(
                metrics,
                backward_instructions=both_counted.per_run - counted.per_run,
                backward_exact=counted.exact and both_counted.exact,
            )
        both_times = both.outcome.times if both else None
        if times is not None and both_times is not None:
            metrics = attrs.evolve(metrics, backward_s=both_times.median_s - times.median_s)
        yield metrics


def without_metrics(records: Iterable[Record]) -> tuple[Record, ...]:
    """What is no part of `metrics_of`: no operator, or one whose forward pass is not there."""
    records = tuple(records)
    operators = _operators(records)
    return tuple(
        record
        for record in records
        if (record.build, attrs.evolve(record.key, autograd=AutogradMode.FORWARD)) not in operators
    )


def _operators(records: Iterable[Record]) -> dict[Identity, Record]:
    return {record.identity: record for record in records if isinstance(record.subject, Operator)}


# ------------------------------------------------------------------------------- over sizes

_Array: TypeAlias = npt.NDArray[np.float64]

_SLACK = 1e-3


@attrs.frozen
class Complexity:
    """How a cost grows with the size: ``overhead + per_unit * grown(size)``."""

    name: str
    power: int = 0
    logarithms: int = 0

    def grown(self, sizes: _Array | float) -> _Array:
        """How much has grown at a size; nothing where the cost is constant."""
        found: _Array = np.power(sizes, self.power) * np.log2(sizes) ** self.logarithms
        return found if self.power or self.logarithms else 0 * found


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
        return self.overhead + self.per_unit * float(self.complexity.grown(size))


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
    measured = np.array(list(counts.values()), dtype=float)
    grown = complexity.grown(np.array(list(counts), dtype=float))
    options = []
    for terms in ((1, 1), (1, 0), (0, 1)):
        columns = np.stack([np.full(len(counts), float(terms[0])), terms[1] * grown], axis=1)
        solved = np.linalg.lstsq(columns / measured[:, None], np.ones(len(counts)), rcond=None)[0]
        overhead, per_unit = float(solved[0]) * terms[0], float(solved[1]) * terms[1]
        residuals = (overhead + per_unit * grown) / measured - 1
        if overhead >= 0 and per_unit >= 0:
            options.append((float(np.sqrt(np.mean(residuals**2))), overhead, per_unit))
    error, overhead, per_unit = min(options)
    sizes = np.geomspace(1, 2.0**60, 100_000)
    work = per_unit * complexity.grown(sizes)
    begins = float(np.interp(overhead, work, sizes)) if 0 < overhead <= work[-1] else None
    return Fit(complexity, overhead, per_unit, error, begins)
