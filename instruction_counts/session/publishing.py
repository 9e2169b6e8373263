"""What a published history shows: the builds of stored runs, neighbours among them, and cases."""

from __future__ import annotations

import datetime as dt
import functools
import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.sides import Side, disagreements, narrowed, side_of
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.build import DEFAULT_NAME, Fingerprint, known_at_first
from instruction_counts.domain.effects import MIN_EFFECT, Effect
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.records import StoredCount
from instruction_counts.domain.selection import Selection, require_matches
from instruction_counts.history.series import Series, all_series
from instruction_counts.session.comparing import judged
from instruction_counts.session.histories import counts_of
from instruction_counts.storage.store import RUNNING, Store

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
    def started_at(self) -> str:
        """When the run began; empty where that is not known."""
        return self.points[0].started_at

    @property
    def engine(self) -> str:
        """Of the run."""
        return self.points[0].engine

    @property
    def fingerprint(self) -> Fingerprint:
        """Of the build: that of each of its counts."""
        return self.points[0].fingerprint

    @functools.cached_property
    def cases(self) -> frozenset[CaseKey]:
        """Those that were counted."""
        return frozenset(point.case for point in self.points if point.instructions is not None)


@attrs.frozen
class Publication:
    """All that is published of a store."""

    selection: Selection
    min_effect: Effect
    builds: tuple[PublishedBuild, ...]
    """In order of time."""
    bases: Mapping[PublishedBuild, PublishedBuild]
    """What each build is compared with: its neighbour. Those without one are not in it."""
    series: tuple[Series, ...]
    """One for each case, by its title."""


def publication_of(
    selection: Selection,
    store: Store,
    *,
    since: dt.datetime | None = None,
    tags: Collection[str] = (),
    min_effect: Effect = MIN_EFFECT,
) -> Publication:
    """What is to be published; ``since`` and ``tags`` are as in `history_of`.

    Runs that are still going on are left out.

    Raises:
        UsageError: no stored case is selected, or no run is left.
        DataError: the database cannot be read.
    """
    going_on = {run.id for run in store.summaries() if run.state == RUNNING}
    known = store.case_keys()
    listing = shlex.join(["runs", "list", *store.option])
    require_matches(selection, known, listing)
    keys = [key for key in known if selection.keeps_key(key)]
    if not keys:
        raise UsageError("no stored case is selected", "Widen --only. Stored runs:", listing)
    counts = counts_of(keys, store, since=since, tags=tags)
    points = [point for point in counts if point.run_id not in going_on]
    if not points:
        raise UsageError("all runs with these cases are still going on", "Publish after their end.")
    builds = tuple(_builds(points))
    series = sorted(all_series(points, min_effect), key=lambda found: found.key.title)
    return Publication(selection, min_effect, builds, neighbours(builds), tuple(series))


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
            if in_common and in_common >= _IN_COMMON * len(new.cases) and _comparable(base, new):
                found[new] = base
                break
    return found


def comparer(
    store: Store, publication: Publication
) -> Callable[[PublishedBuild, PublishedBuild], Comparison]:
    """What compares two builds of a publication, by what is stored of them.

    It raises `UsageError` where a run is not there any more, `DataError` where it cannot be read.
    """

    @functools.lru_cache(maxsize=2)  # what is new now is base in the next comparison
    def side(build: PublishedBuild) -> Side:
        run = store.load(build.run_id)
        found = side_of(run, build.name, build.title, build.run_id)
        return narrowed(found, publication.selection)

    return lambda base, new: judged(side(base), side(new), publication.min_effect, store.completed)


def _comparable(base: PublishedBuild, new: PublishedBuild) -> bool:
    return not any(found.prevents for found in disagreements(base.points[0], new.points[0]))
