"""The order in which cases are measured within a time budget, from what is stored of them."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet

import attrs

from core.types import Case, CaseKey
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Record, Run, as_it_is
from instruction_counts.domain.stored import StoredCount
from instruction_counts.execution.budget import Budget
from instruction_counts.execution.order import read_durations
from instruction_counts.history.priorities import Move, Scout, changed_functions, moves, priorities
from instruction_counts.session.measuring import DURATIONS, Plan
from instruction_counts.storage.store import Store
from instruction_counts.system.cache import Cache

_RECENT_RUNS = 20
"""How many runs are searched for changes; older ones say little about the next run."""

_LOADED_RUNS = 3
"""How many runs are searched for the functions that cases execute."""

_EXPLAINED_MOVES = 10
"""How many of the latest changes are attributed to functions."""


def planned(
    limit_s: float | None,
    cases: Sequence[Case],
    builds: Sequence[str],
    store: Store | None,
    moved: AbstractSet[CaseKey] = frozenset(),
) -> Plan | None:
    """The plan for ``cases`` within a budget, by what is stored of them; None without a budget.

    ``moved`` are cases that did so in the last check.
    """
    if limit_s is None:
        return None
    keys = [case.key for case in cases]
    points = store.counts(keys, last_runs=_RECENT_RUNS) if store is not None else ()
    found = moves(points)
    latest = _latest(points, store) if store is not None else {}
    changed = {
        name
        for move in found[-_EXPLAINED_MOVES:]
        if store is not None
        for name in _causes(move, store)
    }
    complete = store.completed if store is not None else as_it_is
    durations_s = read_durations(Cache().root / DURATIONS)
    known = priorities(points, latest, found, changed, durations_s, complete)
    more = {
        case.definition_hash: known.moves.get(case.definition_hash, 0) + 1
        for case, key in zip(cases, keys, strict=True)
        if key in moved
    }
    known = attrs.evolve(known, moves={**known.moves, **more})
    return Plan(Budget(limit_s, known), Scout(builds, latest, complete).changed)


def _latest(points: Sequence[StoredCount], store: Store) -> dict[CaseKey, Record]:
    """The last record of each case, as far as the last few runs hold them."""
    found: dict[CaseKey, Record] = {}
    newest = list(dict.fromkeys(point.run_id for point in reversed(points)))
    for run_id in newest[:_LOADED_RUNS]:
        for record in reversed(store.load(run_id, details=False).cases):
            if record.outcome.status is Status.OK:
                found.setdefault(record.key, record)
    return found


def _causes(move: Move, store: Store) -> frozenset[str]:
    before, after = (
        store.details(point.run_id, point.build, point.case).functions
        for point in (move.base, move.new)
    )
    return changed_functions(before, after)


def require_measured(run: Run) -> None:
    """Refuse a run that measured nothing within its budget: it is not one that found nothing.

    Raises:
        UsageError: the budget was used up before the first case started; some may be skipped.
    """
    budgets = [
        case.outcome.skipped_by_budget for case in run.cases if case.outcome.skipped_by_budget
    ]
    if budgets and all(case.outcome.status is Status.SKIPPED for case in run.cases):
        raise UsageError(
            f"no case was measured within the time budget of {budgets[0]}",
            "The servers of a build take about 20 s to start. Give more.",
        )
