"""Wall times of two builds, taken in turns once all that can be counted is counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from typing import TypeAlias

import attrs

from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.core.labels import WARM_LOOP
from instruction_counts.core.types import Case, CaseKey
from instruction_counts.domain.outcomes import Outcome, Status, Times
from instruction_counts.domain.records import Record
from instruction_counts.session.builds import BuildRunner
from instruction_counts.session.devices import is_on_cuda
from instruction_counts.session.measuring import carried_out

Timed: TypeAlias = Callable[[Mapping[str, Side], float | None], tuple[Mapping[str, Side], bool]]
"""Takes the times of measured sides, within a budget in seconds if there is one.

Returns the sides with their times, and whether it was interrupted.
"""


def timed_in_turns(
    runner: BuildRunner,
    cases: Sequence[Case],
    sides: Mapping[str, Side],
    budget_s: float | None = None,
) -> tuple[Mapping[str, Side], bool]:
    """Time the cases that both builds of ``runner`` can run; see `Timed`.

    Not those on CUDA, where a device runs on by itself, and not those that run once: blocks of runs
    are compared.

    Nothing else is measured on a core meanwhile, and what C++ there is has been compiled.
    """
    base, new = (facts.build for facts in runner.facts)
    before, after = (sides[build.name].records for build in (base, new))
    timeable = (
        case for case in cases if not is_on_cuda(case) and case.timer_args.kind == WARM_LOOP
    )
    able = [case for case in timeable if _is_ok(before, case) and _is_ok(after, case)]
    if not able:
        return sides, False
    runner.observer.note(f"Timing {len(able):,} case{'' if len(able) == 1 else 's'} in turns")
    orders = [runner.settings.order(case, new, counts=False, beside=base) for case in able]
    found: dict[CaseKey, Outcome] = {}
    interrupted = False
    try:
        with (
            runner.lanes() as lanes,
            closing(carried_out(orders, lanes, runner.observer, budget_s)) as events,
        ):
            for done in events:
                found[done.order.case.key] = done.outcome
    except KeyboardInterrupt:
        interrupted = True
    _report(runner, found.values())
    return {name: _with_times(runner, side, found) for name, side in sides.items()}, interrupted


def _is_ok(records: Mapping[CaseKey, Record], case: Case) -> bool:
    record = records.get(case.key)
    return record is not None and record.outcome.status is Status.OK


def _report(runner: BuildRunner, outcomes: Iterable[Outcome]) -> None:
    failures = Counter(
        found.failure.summary
        for found in outcomes
        if found.failure is not None and not found.skipped_by_budget
    )
    for summary, number in failures.items():
        cases = f"{number:,} case{'' if number == 1 else 's'}"
        runner.observer.error(f"Not timed in turns: {cases}: {summary}")


def _with_times(runner: BuildRunner, side: Side, found: Mapping[CaseKey, Outcome]) -> Side:
    timed = {}
    for key, outcome in found.items():
        record, paired = side.records[key], outcome.paired
        if paired is not None:
            values_s = paired.base_s if record.build == paired.base else paired.new_s
            times = Times.of(values_s, paired.runs) if values_s else None
            own = attrs.evolve(record.outcome, times=times, paired=paired)
            timed[key] = attrs.evolve(record, outcome=own)
    runner.amend(side.run_id, timed.values(), "The times taken in turns are")
    return attrs.evolve(side, records={**side.records, **timed})
