"""What changed beside instructions: exact metrics that are judged, on both sides of a case."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from instruction_counts.domain.metrics import Amount, Metric, metrics
from instruction_counts.domain.records import Record


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
    for metric in metrics():
        before, after = (record.outcome.metrics.get(metric.name) for record in (base, new))
        if not (metric.judged and metric.exact) or before is None or after is None:
            continue
        if before != after:
            yield MetricChange(metric, before, after)
