"""Result objects of torch itself, made from records; nothing else here imports torch."""

from collections.abc import Iterable
from typing import Any

from instruction_counts.domain.outcomes import FunctionCost
from instruction_counts.domain.records import Record

RUNS = 100
"""Over so many runs are all counts that torch gets: its ``delta`` subtracts without a look at them.

Both engines count over a number of runs that divides this one.
"""


def _task_spec(record: Record) -> Any:
    from torch.utils.benchmark.utils.common import TaskSpec  # noqa: PLC0415 - needed here alone

    return TaskSpec(
        stmt=record.stmt,
        setup=record.setup,
        global_setup=record.global_setup,
        label=" / ".join(record.label),
        sub_label=" · ".join(mode.value for mode in record.key.modes if mode.value),
        description=record.build,
        num_threads=record.num_threads,
    )


def measurement(record: Record) -> Any:
    """A ``Measurement`` with the wall times of ``record``."""
    from torch.utils.benchmark import Measurement  # noqa: PLC0415 - needed here alone

    times = record.outcome.times
    if times is None:
        raise ValueError(f"{' / '.join(record.label)} was not timed")
    raw = [value * times.runs for value in times.values_s]
    return Measurement(times.runs, raw, _task_spec(record))


def callgrind_stats(record: Record) -> Any:
    """A ``CallgrindStats`` with the per-function costs of ``record`` over `RUNS` runs.

    The loop around the statement is already subtracted, so there is nothing left for a baseline.

    Raises:
        ValueError: there are no costs, or `RUNS` is no multiple of the runs that they are of.
    """
    from torch.utils.benchmark.utils.valgrind_wrapper import timer_interface  # noqa: PLC0415

    name, functions = " / ".join(record.label), record.outcome.functions
    if functions is None:
        raise ValueError(f"{name} was not counted")
    factor, rest = divmod(RUNS, functions.runs)
    if rest:
        raise ValueError(
            f"{name} was counted over {functions.runs} runs, and {RUNS} is not a multiple of that"
        )

    def counts(costs: Iterable[FunctionCost], kind: str) -> Any:
        rows = []
        for cost in costs:
            if count := getattr(cost, kind):
                name = f"{cost.file}:{cost.function}{f' [{cost.library}]' if cost.library else ''}"
                rows.append(timer_interface.FunctionCount(factor * count, name))
        rows.sort(key=lambda row: row.count, reverse=True)
        return timer_interface.FunctionCounts(tuple(rows), inclusive=kind == "inclusive")

    return timer_interface.CallgrindStats(
        task_spec=_task_spec(record),
        number_per_run=RUNS,
        built_with_debug_symbols=False,
        baseline_inclusive_stats=counts((), "inclusive"),
        baseline_exclusive_stats=counts((), "exclusive"),
        stmt_inclusive_stats=counts(functions.costs, "inclusive"),
        stmt_exclusive_stats=counts(functions.costs, "exclusive"),
        stmt_callgrind_out=None,
    )
