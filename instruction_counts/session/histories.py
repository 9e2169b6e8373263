"""Stored runs over time: the counts of cases with the steps in them, and what is published of all.

That is the builds of the runs, neighbours among them, and cases.
"""

import datetime as dt
import functools
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import groupby

import attrs

from instruction_counts.analysis.attribution.causes import causes_of_case, executed_changes
from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.analysis.verdicts.comparison import Comparison, compare
from instruction_counts.analysis.verdicts.sides import Side, disagreements, narrowed, side_of
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.build import DEFAULT_NAME, known_at_first
from instruction_counts.domain.causes import Cause
from instruction_counts.domain.effects import MIN_EFFECT, Effect
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.records import StoredCount
from instruction_counts.domain.selection import Selection, require_matches, select_keys
from instruction_counts.history.series import Series, all_series, pairs_at_steps
from instruction_counts.storage.store import RUNNING, Store

_MOST_CAUSES = 3


@attrs.frozen
class HistoryRequest:
    """Which stored counts a history is about, and what a step in them is."""

    selection: Selection = attrs.field(factory=Selection)
    since: dt.datetime | None = None
    """Only of the runs since this moment (UTC, without a zone)."""
    tags: tuple[str, ...] = ()
    """Globs: only of runs that have one of these; empty takes those without a tag, too."""
    min_effect: Effect = MIN_EFFECT
    last: int | None = None
    """Only of so many of these runs, the latest; what is published is of all."""

    def counts(self, keys: Collection[CaseKey], store: Store) -> list[StoredCount]:
        """The counts of these cases in the runs, in order of time, before only the ``last`` stay.

        Raises:
            UsageError: no run is left.
        """
        points = [
            point
            for point in store.counts(keys)
            if point.in_order
            and (self.since is None or point.started_at >= self.since.isoformat())
            and (
                not self.tags
                or any(fnmatchcase(tag, glob) for tag in point.tags for glob in self.tags)
            )
        ]
        if not points:
            again = shlex.join(["runs", "list", *store.option])
            remedy = "Widen --since and --tag. See:"
            raise UsageError("no run with this case is left", remedy, again)
        return points


@attrs.frozen
class Histories:
    """A series for each case, and what changed at its steps."""

    series: Sequence[Series]
    causes: Mapping[tuple[StoredCount, StoredCount], tuple[Cause, ...]]


def history_of(asked: HistoryRequest, store: Store) -> Histories:
    """The history of the cases that are selected, by one glob over the label path.

    Raises:
        UsageError: no stored case is selected, or no run is left.
    """
    points = asked.counts(select_keys(store.case_keys(), asked.selection, "the store"), store)
    if asked.last is not None:
        runs = set(list(dict.fromkeys(point.run_id for point in points))[-asked.last :])
        points = [point for point in points if point.run_id in runs]
    series = all_series(points, asked.min_effect)
    causes = {pair: causes_of(store, *pair) for found in series for pair in pairs_at_steps(found)}
    return Histories(series, causes)


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


# What is published

_IN_COMMON = 0.5
"""Of the cases of a build, its neighbour has at least so many: else the next one is taken."""


@attrs.frozen(eq=False)
class PublishedBuild:
    """One build of a stored run, with the counts of its cases."""

    run_id: int
    name: str
    points: tuple[StoredCount, ...]
    is_repeated: bool = False
    """Whether it was measured before, and now only beside another one: a watch does so to verify a
    step. It is no news, and has no neighbour."""

    @property
    def title(self) -> str:
        """``run 12``, with the name of the build where it has one."""
        return f"run {self.run_id}{'' if self.name == DEFAULT_NAME else f', {self.name}'}"

    @property
    def first(self) -> StoredCount:
        """Its first count: what that says of run and build, each of them says."""
        return self.points[0]

    @functools.cached_property
    def cases(self) -> frozenset[CaseKey]:
        """Those that were counted."""
        return frozenset(point.case for point in self.points if point.instructions is not None)


@attrs.frozen
class Publication:
    """All that is published of a store."""

    min_effect: Effect
    builds: tuple[PublishedBuild, ...]
    """In order of time."""
    bases: Mapping[PublishedBuild, PublishedBuild]
    """What each build is compared with: its neighbour. Those without one are not in it."""
    series: tuple[Series, ...]
    """One for each case, by its title."""
    compare: Callable[[PublishedBuild, PublishedBuild], Comparison]
    """What is stored of two builds. It raises `UsageError` where a run is not there any more,
    `DataError` where it cannot be read."""
    causes: Callable[[StoredCount, StoredCount], tuple[Cause, ...]]
    """See `causes_of`."""


def publication_of(asked: HistoryRequest, store: Store) -> Publication:
    """What is to be published, but for runs that are still going on.

    Raises:
        UsageError: no stored case is selected, or no run is left.
        DataError: the database cannot be read.
    """
    going_on = {run.id for run in store.summaries() if run.state == RUNNING}
    known = store.case_keys()
    listing = shlex.join(["runs", "list", *store.option])
    require_matches(asked.selection, known, listing)
    keys = [key for key in known if asked.selection.keeps_key(key)]
    if not keys:
        raise UsageError("no stored case is selected", "Widen --only. Stored runs:", listing)
    points = [point for point in asked.counts(keys, store) if point.run_id not in going_on]
    if not points:
        raise UsageError("all runs with these cases are still going on", "Publish after their end.")
    builds = tuple(_builds(points))
    series = sorted(all_series(points, asked.min_effect), key=lambda found: found.key.title)

    @functools.lru_cache(maxsize=2)  # what is new now is base in the next comparison
    def side(build: PublishedBuild) -> Side:
        run = store.load(build.run_id)
        return narrowed(side_of(run, build.name, build.title, build.run_id), asked.selection)

    return Publication(
        *(asked.min_effect, builds, neighbours(builds), tuple(series)),
        lambda base, new: compare(side(base), side(new), asked.min_effect),
        functools.partial(causes_of, store),
    )


def _builds(points: Iterable[StoredCount]) -> Iterator[PublishedBuild]:
    known = set()
    for run_id, of_run in groupby(points, key=lambda point: point.run_id):
        by_name = groupby(of_run, key=lambda point: point.build)
        mine = {name: tuple(counts) for name, counts in by_name}
        for name, counts in mine.items():
            identity = name, known_at_first(counts[0].fingerprint)
            yield PublishedBuild(run_id, name, counts, len(mine) > 1 and identity in known)
            known.add(identity)


def neighbours(builds: Sequence[PublishedBuild]) -> dict[PublishedBuild, PublishedBuild]:
    """The last build before each with which it can be compared.

    That is one of the same conditions that has at least half of its cases, so that a run of a few
    cases between two large ones does not part them.
    """
    found = {}
    for place, new in enumerate(builds):
        for base in () if new.is_repeated else reversed(builds[:place]):
            in_common = len(base.cases & new.cases)
            if in_common and in_common >= _IN_COMMON * len(new.cases):
                differing = disagreements(base.first, new.first)
                if not any(fact.prevents for fact in differing):
                    found[new] = base
                    break
    return found
