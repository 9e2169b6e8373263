"""The counts of cases over the stored runs, and the steps in them."""

from __future__ import annotations

import datetime as dt
import difflib
from collections.abc import Collection, Mapping, Sequence
from fnmatch import fnmatchcase

import attrs

from instruction_counts.analysis.attribution.causes import top_causes
from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.causes import Cause
from instruction_counts.domain.effects import MIN_EFFECT, Effect
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.records import StoredCount
from instruction_counts.domain.selection import Selection
from instruction_counts.history.series import Series, all_series, pairs_at_steps
from instruction_counts.storage.store import Store


@attrs.frozen
class HistoryRequest:
    """Which cases, over which runs."""

    selection: Selection
    """With one glob over the label path."""
    since: dt.datetime | None = None
    """UTC, without a zone."""
    last: int | None = None
    """So many runs, the latest; None is all of them."""
    tags: Collection[str] = ()
    """Globs; empty takes runs without a tag, too."""
    min_effect: Effect = MIN_EFFECT


@attrs.frozen
class Histories:
    """A series for each case, and what changed at its steps."""

    series: Sequence[Series]
    causes: Mapping[tuple[StoredCount, StoredCount], tuple[Cause, ...]]


def history_of(request: HistoryRequest, store: Store) -> Histories:
    """The history of the cases that are selected.

    Raises:
        UsageError: no stored case is selected, or no run is left.
    """
    keys = _selected(store.case_keys(), request.selection)
    points = _narrowed(store.counts(keys), request.since, request.last, request.tags)
    series = all_series(points, request.min_effect)
    causes = {pair: causes_of(store, *pair) for found in series for pair in pairs_at_steps(found)}
    return Histories(series, causes)


def causes_of(store: Store, base: StoredCount, new: StoredCount) -> tuple[Cause, ...]:
    """The largest changes from one stored count to another; none where no functions can be read."""
    try:
        costs = [
            store.details(point.run_id, point.build, point.case).functions for point in (base, new)
        ]
        return () if None in costs else top_causes(difference(*costs))
    except DataError:  # a series does not depend on its causes
        return ()


def _selected(known: Collection[CaseKey], selection: Selection) -> set[CaseKey]:
    kept = {key for key in known if selection.keeps_key(key)}
    if kept:
        return kept
    (label,) = selection.only
    if any(Selection(selection.only).keeps_key(key) for key in known):
        raise UsageError(
            f"'{label}' has no case of these modes in the store",
            "Leave out --language, --runtime, --autograd or --num-threads.",
        )
    paths = {key.path.lower(): key.path for key in known}
    near = [paths[match] for match in difflib.get_close_matches(label.lower(), paths, n=3)]
    hint = f" Near: {', '.join(near)}." if near else ""
    raise UsageError(
        f"no stored case matches '{label}'.{hint}",
        "LABEL is a glob over the label path, as for --only. Cases are stored by:",
        "run",
    )


def _narrowed(
    points: Sequence[StoredCount],
    since: dt.datetime | None,
    last: int | None,
    tags: Collection[str],
) -> list[StoredCount]:
    """The points of the runs that were asked for.

    Raises:
        UsageError: there are none.
    """
    kept = [
        point
        for point in points
        if (since is None or _began(point) >= since)
        and (not tags or any(fnmatchcase(tag, glob) for tag in point.tags for glob in tags))
    ]
    if last is not None:
        runs = list(dict.fromkeys(point.run_id for point in kept))[-last:]
        kept = [point for point in kept if point.run_id in set(runs)]
    if not kept:
        raise UsageError(
            "no run with this case is left", "Widen --since and --tag. See:", "runs list"
        )
    return kept


def _began(point: StoredCount) -> dt.datetime:
    try:
        moment = dt.datetime.fromisoformat(point.started_at)
    except ValueError:
        return dt.datetime.min  # noqa: DTZ901 - compared with what click reads, which has no zone
    return moment.astimezone(dt.UTC).replace(tzinfo=None) if moment.tzinfo else moment
