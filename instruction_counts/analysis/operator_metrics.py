"""What is known of an operator: forward and backward apart, memory, achieved bandwidth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from instruction_counts.core.facts import Operator
from instruction_counts.core.types import AutogradMode, CaseKey
from instruction_counts.domain.metrics import (
    FLOPS,
    MOVED_BYTES,
    NO_AMOUNTS,
    Amounts,
)
from instruction_counts.domain.outcomes import Instructions, Times
from instruction_counts.domain.records import Identity, Record


@attrs.frozen
class Metrics:
    """One operator in one language and runtime.

    The backward pass cannot run alone, so ``backward`` is the difference of two measured cases:
    forward and backward together, less forward.
    """

    key: CaseKey
    """Of the forward pass."""
    operator: Operator
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
    used = {
        (build, key.label): record.outcome.metrics
        for (build, key), record in operators.items()
        if key.autograd is AutogradMode.FORWARD and record.outcome.resources_reason is not None
    }
    for (build, key), record in operators.items():
        if key.autograd is AutogradMode.FORWARD:
            assert isinstance(record.subject, Operator), "all of these are operators"
            metrics = Metrics(
                key=key,
                operator=record.subject,
                build=build,
                instructions=record.outcome.instructions,
                times=record.outcome.times,
                used=used.get((build, key.label), NO_AMOUNTS),
            )
            both = operators.get((build, attrs.evolve(key, autograd=AutogradMode.FORWARD_BACKWARD)))
            yield metrics if both is None else _with_backward(metrics, record, both)


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


def _with_backward(metrics: Metrics, forward: Record, both: Record) -> Metrics:
    forward_count, both_count = forward.outcome.instructions, both.outcome.instructions
    if forward_count is not None and both_count is not None:
        metrics = attrs.evolve(
            metrics,
            backward_instructions=both_count.per_run - forward_count.per_run,
            backward_exact=forward_count.exact and both_count.exact,
        )
    if forward.outcome.times is not None and both.outcome.times is not None:
        difference = both.outcome.times.median_s - forward.outcome.times.median_s
        metrics = attrs.evolve(metrics, backward_s=difference)
    return metrics
