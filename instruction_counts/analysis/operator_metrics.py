"""What is known of an operator: forward and backward apart, memory, achieved bandwidth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

import attrs

from core.facts import Operator
from core.types import AutogradMode, Label, Language, RuntimeMode
from instruction_counts.domain.metrics import (
    FLOPS,
    MOVED_BYTES,
    NO_AMOUNTS,
    Amounts,
)
from instruction_counts.domain.outcomes import Instructions, Times
from instruction_counts.domain.records import Record

_Key: TypeAlias = tuple[str, Label, RuntimeMode, Language, int]


@attrs.frozen
class Metrics:
    """One operator in one language and runtime.

    The backward pass cannot run alone, so ``backward`` is the difference of two measured cases:
    forward and backward together, less forward.
    """

    label: Label
    operator: Operator
    language: Language
    runtime: RuntimeMode
    num_threads: int
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
    by_key = _by_key(records)
    used = {
        (build, label): forward.outcome.metrics
        for (build, label, *_), by_autograd in by_key.items()
        if (forward := by_autograd.get(AutogradMode.FORWARD))
        and forward.outcome.resources_reason is not None
    }
    for (build, label, *_), by_autograd in by_key.items():
        forward = by_autograd.get(AutogradMode.FORWARD)
        if forward is not None:
            both = by_autograd.get(AutogradMode.FORWARD_BACKWARD)
            assert isinstance(forward.subject, Operator), "all of these are operators"
            amounts = used.get((build, label), NO_AMOUNTS)
            yield _metrics(forward.subject, forward, both, amounts)


def without_metrics(records: Iterable[Record]) -> tuple[Record, ...]:
    """What is no part of `metrics_of`: no operator, or one whose forward pass is not there."""
    records = tuple(records)
    by_key = _by_key(records)
    return tuple(
        record for record in records if AutogradMode.FORWARD not in by_key.get(_key(record), {})
    )


def _by_key(records: Iterable[Record]) -> dict[_Key, dict[AutogradMode, Record]]:
    by_key: dict[_Key, dict[AutogradMode, Record]] = {}
    for record in records:
        if isinstance(record.subject, Operator):
            by_key.setdefault(_key(record), {})[record.autograd] = record
    return by_key


def _key(record: Record) -> _Key:
    modes = (record.runtime, record.language, record.num_threads)
    return record.build, record.label, *modes


def _metrics(operator: Operator, forward: Record, both: Record | None, used: Amounts) -> Metrics:
    metrics = Metrics(
        label=forward.label,
        operator=operator,
        language=forward.language,
        runtime=forward.runtime,
        num_threads=forward.num_threads,
        build=forward.build,
        instructions=forward.outcome.instructions,
        times=forward.outcome.times,
        used=used,
    )
    return metrics if both is None else _with_backward(metrics, forward, both)


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
