"""The counts of a case over stored runs, in order of time, and the steps in them."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

import attrs

from instruction_counts.analysis.verdicts.difference import noise_floor
from instruction_counts.analysis.verdicts.sides import Disagreement, disagreements
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.effects import MIN_EFFECT, Effect
from instruction_counts.domain.outcomes import Instructions
from instruction_counts.domain.records import StoredCount
from instruction_counts.history.steps import Level, Step, levels, steps_between

_OF_MACHINE = ("CPU", "C library")
"""Disagreements that tell two machines of one architecture from each other."""


@attrs.frozen
class Segment:
    """Counts that can be compared with each other, in order of time."""

    points: tuple[StoredCount, ...]
    levels: tuple[Level, ...]
    apart: tuple[str, ...] = ()
    """What keeps it from the segment before: ``engine timer → fork``, ``the code of the case``."""

    @property
    def steps(self) -> tuple[Step, ...]:
        """The steps in it, in order of time."""
        return steps_between(self.levels)

    @property
    def outliers(self) -> frozenset[int]:
        """Positions of the counts that stand for no level."""
        members = {place for level in self.levels for place in level.members}
        return frozenset(range(len(self.points))) - members

    def level_at(self, place: int) -> Level:
        """The level that a position belongs to."""
        return next(level for level in self.levels if level.start <= place < level.end)


@attrs.frozen
class Series:
    """A case over all runs that were asked for."""

    key: CaseKey
    segments: tuple[Segment, ...]
    uncounted: tuple[StoredCount, ...] = ()
    """Where the case failed, or was only timed."""


def all_series(
    points: Iterable[StoredCount], min_effect: Effect = MIN_EFFECT
) -> tuple[Series, ...]:
    """A series for each case, in the order of its first point; ``points`` are in order of time."""
    by_case: dict[CaseKey, list[StoredCount]] = {}
    for point in points:
        by_case.setdefault(point.case, []).append(point)
    return tuple(_series(key, mine, min_effect) for key, mine in by_case.items())


def pairs_at_steps(series: Series) -> Iterator[tuple[StoredCount, StoredCount]]:
    """The counts before and after each step."""
    for segment in series.segments:
        for step in segment.steps:
            yield segment.points[step.before], segment.points[step.after]


def surroundings(base: StoredCount, new: StoredCount) -> tuple[Disagreement, ...]:
    """What else differs between two points besides torch itself."""
    return tuple(found for found in disagreements(base, new) if not found.expected)


def count_of(point: StoredCount) -> Instructions:
    """The count of a point that has one."""
    assert point.instructions is not None, "points of a segment are counted"
    return point.instructions


def _series(key: CaseKey, points: Sequence[StoredCount], min_effect: Effect) -> Series:
    groups = _groups([point for point in points if point.instructions is not None])
    segments: list[Segment] = []
    for group in groups:
        counts = [count_of(point) for point in group]
        floors = [  # as `compare` uses them
            noise_floor(count, count, key, [point.noise] if point.noise else [])[0]
            for point, count in zip(group, counts, strict=True)
        ]
        apart = tuple(_apart(segments[-1].points[-1], group[0])) if segments else ()
        found = levels([count.per_run for count in counts], floors, min_effect)
        segments.append(Segment(tuple(group), found, apart))
    uncounted = tuple(point for point in points if point.instructions is None)
    return Series(key, tuple(segments), uncounted)


def _groups(points: Sequence[StoredCount]) -> list[list[StoredCount]]:
    """The points of each segment, in the order of the first points."""
    comparable: list[list[StoredCount]] = []
    for point in points:
        mine = (group for group in comparable if not any(_between(group[0], point)))
        if (group := next(mine, None)) is None:
            comparable.append(group := [])
        group.append(point)
    found = [part for group in comparable for line in _builds(group) for part in _machines(line)]
    return sorted(found, key=lambda part: points.index(part[0]))


def _builds(group: list[StoredCount]) -> list[list[StoredCount]]:
    """The points of each build that comes back beside others; then all others together.

    So do both builds of comparisons that are repeated, and a release beside each nightly build.
    """
    named: dict[int, set[str]] = defaultdict(set)
    for point in group:
        named[point.run_id].add(point.build)
    beside = (point.build for point in group if len(named[point.run_id]) > 1)
    stretches = Counter(name for name, _ in groupby(beside))
    lines: dict[str, list[StoredCount]] = defaultdict(list)
    for point in group:
        lines[point.build if stretches[point.build] > 1 else ""].append(point)
    return list(lines.values())


def _machines(group: list[StoredCount]) -> list[list[StoredCount]]:
    """The points of each machine, if machines take turns; else all of them together.

    A machine that was left for good is one that was upgraded or replaced: the step that this made
    belongs into the history. Between machines that take turns every change would look like one.
    """
    stretches = [machine for machine, _ in groupby(map(_machine, group))]
    machines = dict.fromkeys(stretches)
    if len(machines) == len(stretches):
        return [group]
    return [[point for point in group if _machine(point) == machine] for machine in machines]


def _machine(point: StoredCount) -> tuple[str, str]:
    return point.fingerprint.cpu, point.fingerprint.libc


def _apart(base: StoredCount, new: StoredCount) -> Iterator[str]:
    """What keeps two neighbouring segments apart."""
    if found := list(_between(base, new)):
        yield from found
        return
    facts = disagreements(base, new)
    machines = [fact.text for fact in facts if fact.name in _OF_MACHINE]
    for text in machines or [f"build {base.build} → {new.build}"]:
        yield f"{text}, in turns"


def _between(base: StoredCount, new: StoredCount) -> Iterator[str]:
    """What keeps two points from being compared."""
    for disagreement in disagreements(base, new):
        if disagreement.prevents:
            yield disagreement.text
    if base.definition_hash != new.definition_hash:
        yield "the case's code differs"
