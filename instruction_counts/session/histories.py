"""The counts of cases over the stored runs, and the steps in them."""

from __future__ import annotations

import datetime as dt
import shlex
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

import attrs

from instruction_counts.analysis.attribution.causes import causes_of_case, executed_changes
from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.causes import Cause
from instruction_counts.domain.effects import MIN_EFFECT, Effect
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.records import StoredCount
from instruction_counts.domain.selection import Selection, select_keys
from instruction_counts.history.series import Series, all_series, pairs_at_steps
from instruction_counts.storage.store import Store

_MOST_CAUSES = 3


@attrs.frozen
class Histories:
    """A series for each case, and what changed at its steps."""

    series: Sequence[Series]
    causes: Mapping[tuple[StoredCount, StoredCount], tuple[Cause, ...]]


def history_of(
    selection: Selection,
    store: Store,
    *,
    since: dt.datetime | None = None,
    last: int | None = None,
    tags: Collection[str] = (),
    min_effect: Effect = MIN_EFFECT,
) -> Histories:
    """The history of the cases that are selected, by one glob over the label path.

    Of the runs ``since`` a moment (UTC, without a zone) that have one of ``tags`` (globs; empty
    takes those without a tag, too), the ``last`` so many.

    Raises:
        UsageError: no stored case is selected, or no run is left.
    """
    keys = select_keys(store.case_keys(), selection, "the store")
    points = counts_of(keys, store, since=since, tags=tags)
    if last is not None:
        runs = set(list(dict.fromkeys(point.run_id for point in points))[-last:])
        points = [point for point in points if point.run_id in runs]
    series = all_series(points, min_effect)
    causes = {pair: causes_of(store, *pair) for found in series for pair in pairs_at_steps(found)}
    return Histories(series, causes)


def counts_of(
    keys: Collection[CaseKey],
    store: Store,
    *,
    since: dt.datetime | None = None,
    tags: Collection[str] = (),
) -> list[StoredCount]:
    """The counts of these cases in the runs that `history_of` is about, in order of time.

    Raises:
        UsageError: no run is left.
    """
    points = [
        point
        for point in store.counts(keys)
        if (since is None or point.started_at >= since.isoformat())
        and (not tags or any(fnmatchcase(tag, glob) for tag in point.tags for glob in tags))
    ]
    if not points:
        again = shlex.join(["runs", "list", *store.option])
        raise UsageError("no run with this case is left", "Widen --since and --tag. See:", again)
    return points


def causes_of(store: Store, base: StoredCount, new: StoredCount) -> tuple[Cause, ...]:
    """The first causes of a step between stored counts; none where no functions can be read."""
    try:
        sides = [store.details(point.run_id, point.build, point.case) for point in (base, new)]
        costs, executed = zip(*((of.functions, of.executed) for of in sides), strict=True)
        if None in costs:
            return ()
        changes = executed_changes(*executed)
        return causes_of_case(changes, difference(*costs, with_calls=False))[:_MOST_CAUSES]
    except DataError:  # a series does not depend on its causes
        return ()
