"""What is known of operators: forward and backward apart, rates, and complexity over sizes."""

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

import attrs
import numpy as np
import numpy.typing as npt

from instruction_counts.core.facts import Operator
from instruction_counts.core.types import AutogradMode
from instruction_counts.domain.metrics import NO_AMOUNTS, Amounts, Metric
from instruction_counts.domain.outcomes import Instructions, Outcome
from instruction_counts.domain.records import Identity, Record
from instruction_counts.sources.operators.sizes import LEAST_POINTS


@attrs.frozen
class Metrics:
    """One operator in one language and runtime.

    The backward pass cannot run alone, so its cost is the difference of two measured cases: forward
    and backward together, less forward.
    """

    forward: Record
    both: Outcome | None
    """Of forward and backward together."""
    used: Amounts = NO_AMOUNTS
    """Of the eager Python case: what is allocated and computed is the same in every language."""

    @property
    def backward(self) -> Instructions | None:
        """Exact where both counts are; None where either was not counted."""
        alone = self.forward.outcome.instructions
        both = None if self.both is None else self.both.instructions
        if alone is None or both is None:
            return None
        return Instructions(both.per_run - alone.per_run, both.exact and alone.exact, ())

    @property
    def backward_s(self) -> float | None:
        """Difference of medians."""
        times = self.forward.outcome.times, self.both and self.both.times
        return times[1].median_s - times[0].median_s if times[0] and times[1] else None

    def per_second(self, metric: Metric) -> float | None:
        """What is moved, or computed, in a second of the median time."""
        amount, times = self.used.get(metric.name), self.forward.outcome.times
        return amount / times.median_s if amount is not None and times and times.median_s else None


def metrics_of(records: Iterable[Record]) -> Iterator[Metrics]:
    """The metrics of all operators among ``records`` whose forward pass is there, in their order.

    Without it there is nothing to tell apart: see `without_metrics`.
    """
    operators = _operators(records)
    forward = [each for each in operators.values() if each.autograd is AutogradMode.FORWARD]
    used = {
        (record.build, record.label): record.outcome.metrics
        for record in forward
        if record.outcome.resources_reason is not None
    }
    for record in forward:
        key = attrs.evolve(record.key, autograd=AutogradMode.FORWARD_BACKWARD)
        both = operators.get((record.build, key))
        amounts = used.get((record.build, record.label), NO_AMOUNTS)
        yield Metrics(record, both.outcome if both else None, amounts)


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
    from scipy.optimize import nnls  # noqa: PLC0415 - a fifth of a second, and seldom needed

    measured = np.array(list(counts.values()), dtype=float)
    grown = complexity.grown(np.array(list(counts), dtype=float))
    columns = np.stack([np.ones(len(counts)), grown], axis=1) / measured[:, None]
    (overhead, per_unit), residual = nnls(columns, np.ones(len(counts)))
    sizes = np.geomspace(1, 2.0**60, 100_000)
    work = per_unit * complexity.grown(sizes)
    begins = float(np.interp(overhead, work, sizes)) if 0 < overhead <= work[-1] else None
    error = float(residual) / math.sqrt(len(counts))
    return Fit(complexity, float(overhead), float(per_unit), error, begins)
