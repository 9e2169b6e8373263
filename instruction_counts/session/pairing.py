"""Wall times of two builds, taken in turns once all that can be counted is counted."""

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import attrs

from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.core.labels import WARM_LOOP
from instruction_counts.core.types import Case, CaseKey
from instruction_counts.domain.outcomes import Outcome, Status, Times
from instruction_counts.domain.paired import SERVERS
from instruction_counts.execution.events import Finished
from instruction_counts.session.builds import BuildRunner
from instruction_counts.session.devices import is_on_cuda


def timed_in_turns(
    runner: BuildRunner, cases: Sequence[Case], sides: Mapping[str, Side], end: float = math.inf
) -> tuple[Mapping[str, Side], bool]:
    """Time the cases that both builds of ``runner`` can run, until ``end`` by the monotonic clock.

    Returns the sides with their times, and whether it was interrupted. Cases on CUDA, where a
    device runs on by itself, have none, nor those that run once: blocks of runs are compared.

    One at a time: what another core does moves times, too. What C++ there is has been compiled.
    """
    base, new = (facts.build for facts in runner.facts)
    able = [
        case
        for case in cases
        if case.timer_args.kind == WARM_LOOP
        and not is_on_cuda(case)
        and all(side.records[case.key].outcome.status is Status.OK for side in sides.values())
    ]
    if not able:
        return sides, False
    runner.observer.note(f"Timing {len(able):,} case{'' if len(able) == 1 else 's'} in turns")
    orders = [runner.settings.order(case, new, counts=False, beside=base) for case in able]
    found: list[Finished] = []
    interrupted = False
    try:
        left_s = max(0.0, end - time.monotonic())
        found.extend(runner.carried_out(orders, budget_s=left_s, at_once=1))
        confirm(runner, found, end)
    except KeyboardInterrupt:
        interrupted = True
    outcomes = {done.order.case.key: done.outcome for done in found}
    _report(runner, outcomes.values())
    return {name: _with_times(runner, side, outcomes) for name, side in sides.items()}, interrupted


def confirm(runner: BuildRunner, found: list[Finished], end: float = math.inf) -> None:
    """Time what is not far beyond the noise again, in fresh servers; what they say joins ``found``.

    What belongs to a server (where its memory lies) is drawn again in each.
    """
    for layout in range(1, SERVERS + 1):
        places = {
            id(done.order): place
            for place, done in enumerate(found)
            if (paired := done.outcome.paired) is not None and paired.is_unconfirmed
        }
        if not places or time.monotonic() >= end:
            return
        number = f"{len(places):,} case{'' if len(places) == 1 else 's'}"
        runner.observer.note(f"Timing {number} again, in fresh servers ({layout} of {SERVERS})")
        orders = [found[place].order for place in places.values()]
        left_s = max(0.0, end - time.monotonic())
        for done in runner.carried_out(orders, layout=layout, budget_s=left_s, at_once=1):
            place = places[id(done.order)]
            before, now = found[place].outcome.paired, done.outcome.paired
            if before is not None and now is not None:
                paired = attrs.evolve(before, again=(*before.again, now.ratios))
                outcome = attrs.evolve(found[place].outcome, paired=paired)
                found[place] = Finished(done.order, outcome)


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
