"""What is known of an operator: forward and backward apart, memory, achieved bandwidth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import attrs

from core.types import AutogradMode, Label, Language, RuntimeMode
from instruction_counts.measurements import Instructions, Machine, Resources, Times
from instruction_counts.results.records import Record

_Key: TypeAlias = tuple[str, Label, RuntimeMode, Language, int]


@attrs.frozen
class Metrics:
    """One operator in one language and runtime.

    The backward pass cannot run alone, so ``backward`` is the difference of two measured cases:
    forward and backward together, less forward.
    """

    label: Label
    operator: str
    language: Language
    runtime: RuntimeMode
    num_threads: int
    build: str
    metadata: Mapping[str, Any] = attrs.field(hash=False)
    instructions: Instructions | None = None
    times: Times | None = None
    backward_instructions: int | None = None
    backward_exact: bool = True
    backward_s: float | None = None
    """Difference of medians."""
    resources: Resources | None = None
    """Of the eager Python case: what is allocated and computed is the same in every language."""

    @property
    def bytes_per_s(self) -> float | None:
        """Achieved bandwidth: the bytes that have to be moved, over the median time."""
        return self._per_second(None if self.resources is None else self.resources.moved_bytes)

    @property
    def flops_per_s(self) -> float | None:
        """Achieved floating point operations in a second."""
        return self._per_second(None if self.resources is None else self.resources.flops)

    def _per_second(self, amount: int | None) -> float | None:
        if amount is None or self.times is None or not self.times.median_s:
            return None
        return amount / self.times.median_s


def metrics_of(records: Iterable[Record]) -> Iterator[Metrics]:
    """The metrics of all operators among ``records``, in their order."""
    by_key: dict[_Key, dict[AutogradMode, Record]] = {}
    resources: dict[tuple[str, Label], Resources] = {}
    for record in records:
        if "operator" not in record.metadata:
            continue
        modes = (record.runtime, record.language, record.num_threads)
        by_key.setdefault((record.build, record.label, *modes), {})[record.autograd] = record
        found = record.outcome.resources
        if found is not None and record.autograd is AutogradMode.FORWARD:
            resources[record.build, record.label] = found
    for (build, label, *_), by_autograd in by_key.items():
        yield _metrics(by_autograd, resources.get((build, label)))


def _metrics(by_autograd: Mapping[AutogradMode, Record], resources: Resources | None) -> Metrics:
    any_record = next(iter(by_autograd.values()))
    forward = by_autograd.get(AutogradMode.FORWARD)
    both = by_autograd.get(AutogradMode.FORWARD_BACKWARD)
    metrics = Metrics(
        label=any_record.label,
        operator=any_record.metadata["operator"],
        language=any_record.language,
        runtime=any_record.runtime,
        num_threads=any_record.num_threads,
        build=any_record.build,
        metadata=any_record.metadata,
        resources=resources,
    )
    if forward is None:
        return metrics
    metrics = attrs.evolve(
        metrics, instructions=forward.outcome.instructions, times=forward.outcome.times
    )
    return metrics if both is None else _with_backward(metrics, forward, both)


def _with_backward(metrics: Metrics, forward: Record, both: Record) -> Metrics:
    one, two = forward.outcome.instructions, both.outcome.instructions
    if one is not None and two is not None:
        metrics = attrs.evolve(
            metrics,
            backward_instructions=two.per_run - one.per_run,
            backward_exact=one.exact and two.exact,
        )
    if forward.outcome.times is not None and both.outcome.times is not None:
        difference = both.outcome.times.median_s - forward.outcome.times.median_s
        metrics = attrs.evolve(metrics, backward_s=difference)
    return metrics


def as_dict(metrics: Metrics, machine: Machine | None = None) -> dict[str, Any]:
    """Plain values, with units in their names; None where something is not known."""
    times, counted, used = metrics.times, metrics.instructions, metrics.resources
    shown = {
        "operator": metrics.operator,
        "label": "/".join(metrics.label),
        "language": metrics.language.value,
        "runtime": metrics.runtime.value,
        "num_threads": metrics.num_threads,
        "build": metrics.build,
        "shapes": metrics.metadata.get("shapes"),
        "dtype": metrics.metadata.get("dtype"),
        "seed": metrics.metadata.get("seed"),
        "instructions": None if counted is None else counted.per_run,
        "exact": None if counted is None else counted.exact,
        "backward_instructions": metrics.backward_instructions,
    }
    for name in ("mean", "median", "p90", "p99", "min", "max"):
        shown[f"{'p50' if name == 'median' else name}_s"] = (
            None if times is None else getattr(times, f"{name}_s")
        )
    shown["backward_p50_s"] = metrics.backward_s
    for name in ("allocated_bytes", "peak_bytes", "moved_bytes", "flops"):
        shown[name] = None if used is None else getattr(used, name)
    shown["bytes_per_s"] = metrics.bytes_per_s
    shown["flops_per_s"] = metrics.flops_per_s
    shown["machine_bytes_per_s"] = None if machine is None else machine.copy_bytes_per_s
    shown["machine_flops_per_s"] = None if machine is None else machine.matmul_flops_per_s
    return shown
