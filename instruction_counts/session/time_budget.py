"""Time budgets: which cases come first, by what is stored of them, and runs that measured none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from collections.abc import Set as AbstractSet

from instruction_counts.core.types import Case, CaseKey
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Run
from instruction_counts.execution.order import Budget, read_durations
from instruction_counts.history.series import all_series
from instruction_counts.session.measuring import DURATIONS
from instruction_counts.storage.store import Store
from instruction_counts.system.cache import Cache

_RECENT_RUNS = 20
"""How many runs are searched for steps; older ones say little about the next run."""


def planned(
    limit_s: float | None,
    cases: Sequence[Case],
    store: Store | None,
    moved: AbstractSet[CaseKey] = frozenset(),
) -> Budget | None:
    """The budget for ``cases``, with what is stored of them; None without a limit.

    ``moved`` are cases that got worse or better in the last check.
    """
    if limit_s is None:
        return None
    keys = [case.key for case in cases]
    points = store.counts(keys, last_runs=_RECENT_RUNS) if store is not None else ()
    moves = Counter(case.definition_hash for case in cases if case.key in moved)
    moves.update(
        segment.points[step.after].definition_hash
        for series in all_series(points)
        for segment in series.segments
        for step in segment.steps
    )
    known = frozenset(point.definition_hash for point in points if point.instructions is not None)
    return Budget(limit_s, moves, known, read_durations(Cache().root / DURATIONS))


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
