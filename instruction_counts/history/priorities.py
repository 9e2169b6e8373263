"""How likely cases are to have changed, by what their counts did over stored builds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import attrs

from core.types import CaseKey
from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.analysis.attribution.names import normalised
from instruction_counts.analysis.verdicts.difference import Verdict, judge
from instruction_counts.domain.effects import MIN_EFFECT
from instruction_counts.domain.errors import DataError
from instruction_counts.domain.fingerprint import fingerprint_hash
from instruction_counts.domain.outcomes import FunctionCosts
from instruction_counts.domain.records import Complete, Record, as_it_is
from instruction_counts.domain.stored import StoredCount
from instruction_counts.execution.budget import Priorities
from instruction_counts.history.series import all_series, count_of, floor_of

_CAUSES = 3
"""So many functions of a change are taken to be its causes: the largest changes."""

_MOVED = {Verdict.WORSE, Verdict.BETTER}


@attrs.frozen
class Move:
    """Two neighbouring counts of a case, on different builds, that differ by more than noise."""

    base: StoredCount
    new: StoredCount


def moves(points: Iterable[StoredCount]) -> tuple[Move, ...]:
    """All moves of the cases of ``points``, which are in order of time; the latest come last."""
    found = [
        Move(base, new)
        for series in all_series(points)
        for segment in series.segments
        for base, new in pairwise(segment.points)
        if _build(base) != _build(new) and _moved(base, new)
    ]
    return tuple(sorted(found, key=lambda move: move.new.run_id))


def _build(point: StoredCount) -> tuple[str, str]:
    # Two builds of one run may differ in their environment alone.
    return point.build, fingerprint_hash(point.fingerprint)


def _moved(base: StoredCount, new: StoredCount) -> bool:
    before, after = count_of(base).per_run, count_of(new).per_run
    floor = max(floor_of(base), floor_of(new))
    return abs(after - before) > floor and MIN_EFFECT.is_reached(after - before, before)


def priorities(
    points: Iterable[StoredCount],
    latest: Mapping[CaseKey, Record],
    found: Iterable[Move],
    changed: Iterable[str] = (),
    durations_s: Mapping[str, float] | None = None,
    complete: Complete = as_it_is,
) -> Priorities:
    """What is known of cases: ``points`` are their counts, ``latest`` their last records.

    ``found`` are the moves among the points, ``changed`` functions that changed in them.
    """
    return Priorities(
        Counter(move.new.definition_hash for move in found),
        {
            record.definition_hash: functions_of(costs)
            for record in latest.values()
            if (costs := complete(record).outcome.functions) is not None
        },
        frozenset(point.definition_hash for point in points if point.instructions is not None),
        durations_s or {},
        frozenset(changed),
    )


def functions_of(costs: FunctionCosts) -> frozenset[str]:
    """The names of the functions of a case, as comparisons know them."""
    return frozenset(normalised(cost.function, cost.library) for cost in costs.costs)


def changed_functions(base: FunctionCosts | None, new: FunctionCosts | None) -> frozenset[str]:
    """The functions that caused a change: those that changed most, by an instruction or more."""
    if base is None or new is None:
        return frozenset()
    try:
        found = difference(base, new).changed[:_CAUSES]
    except DataError:  # costs that contradict themselves tell nothing
        return frozenset()
    return frozenset(change.key.name for change in found if abs(change.delta) >= 1)


@attrs.define
class Scout:
    """Tells which functions a new record shows to have changed.

    A record is held against the one of the first build, where several are measured, or else
    against the last one that is stored.
    """

    builds: Sequence[str]
    latest: Mapping[CaseKey, Record]
    complete: Complete = as_it_is
    _first: dict[CaseKey, Record] = attrs.field(factory=dict)

    def changed(self, record: Record) -> frozenset[str]:
        """The functions that changed most, if the count of the case moved by more than noise."""
        key = record.key
        known = self.latest.get(key) if len(self.builds) == 1 else self._first.get(key)
        if record.build == self.builds[0]:
            self._first[key] = record
        if known is None or judge(key, known, record).verdict not in _MOVED:
            return frozenset()
        before, after = (self.complete(measured).outcome.functions for measured in (known, record))
        return changed_functions(before, after)
