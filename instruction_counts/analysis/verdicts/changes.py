"""What changed in a case besides its count: the program, exact metrics, and wall times."""

from __future__ import annotations

import enum
import math
from collections.abc import Iterator

import attrs

from instruction_counts.domain.metrics import (
    BYTECODES,
    OPERATOR_CALLS,
    Amount,
    Metric,
    metrics,
)
from instruction_counts.domain.outcomes import Times
from instruction_counts.domain.records import Record


class Program(enum.Enum):
    """What is known of what two sides executed."""

    UNKNOWN = "unknown"
    """It is not known of a side, or the sides have different versions of Python, or other Python
    code that executes as many bytecodes."""
    SAME = "same"
    """Each Python function with the same code, as often; each operator as often."""
    PYTHON_DIFFERS = "Python code differs"
    OPERATORS_DIFFER = "operators differ"


OTHER_PROGRAMS = {Program.PYTHON_DIFFERS: BYTECODES, Program.OPERATORS_DIFFER: OPERATOR_CALLS}
"""What is a change whatever layouts do, with the metric that tells which way it goes."""


def program(base: Record | None, new: Record | None) -> Program:
    """What two sides of a case executed, compared."""
    before = base.outcome.executed_digests if base is not None else None
    after = new.outcome.executed_digests if new is not None else None
    if before is None or after is None:
        return Program.UNKNOWN
    same_python = before.python == after.python
    if same_python and before.bytecodes != after.bytecodes:
        return Program.PYTHON_DIFFERS
    if before.operators != after.operators:
        return Program.OPERATORS_DIFFER
    is_same = same_python and before.code == after.code
    return Program.SAME if is_same else Program.UNKNOWN


@attrs.frozen
class MetricChange:
    """A metric that both sides know, with another number on each."""

    metric: Metric
    base: Amount
    new: Amount

    @property
    def verdict(self) -> str:
        """``better``, ``worse``, or ``changed`` where neither can be said."""
        return self.metric.change(self.base, self.new)


def metric_changes(base: Record | None, new: Record | None) -> Iterator[MetricChange]:
    """The exact judged metrics that differ, of the same code; in the order of their registration.

    They leave the verdict, which is about instructions, as it is.
    """
    if base is None or new is None or base.definition_hash != new.definition_hash:
        return
    for metric in (metric for metric in metrics() if metric.judged and metric.exact):
        before, after = (record.outcome.metrics.get(metric.name) for record in (base, new))
        if before is not None and after is not None and before != after:
            yield MetricChange(metric, before, after)


@attrs.frozen
class TimeChange:
    """The ratio of the medians (new to base) with its confidence interval.

    ``low`` and ``high`` bound it at 95%, cautiously: from the intervals of both medians. They speak
    of the blocks of one process on either side; two processes can differ by more.
    """

    base_s: float
    new_s: float
    low: float
    high: float

    @property
    def ratio(self) -> float:
        """New to base."""
        return self.new_s / self.base_s

    @property
    def significant(self) -> bool:
        """Whether the intervals of the two medians do not overlap."""
        return not self.low <= 1 <= self.high


def time_change(base: Times | None, new: Times | None) -> TimeChange | None:
    """The change from ``base`` to ``new``; None where one was not timed."""
    if base is None or new is None or not base.median_s or not new.median_s:
        return None
    (base_low, base_high), (new_low, new_high) = (
        times.median_bounds_s or (0.0, math.inf) for times in (base, new)
    )
    low = new_low / base_high if base_high else 0.0
    high = new_high / base_low if base_low else math.inf
    return TimeChange(base.median_s, new.median_s, low, high)
