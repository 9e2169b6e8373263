"""The counts of a case over stored runs, in order of time, and the steps in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import attrs

from instruction_counts.compare.fingerprints import Disagreement, disagreements
from instruction_counts.compare.sides import Key, Side
from instruction_counts.compare.verdicts import MinEffect, noise_floor
from instruction_counts.history.steps import Level, Step, levels, steps_between
from instruction_counts.measurements import Instructions
from instruction_counts.results.noise import Noises, fingerprint_hash
from instruction_counts.results.store import StoredCount


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
        return next(one for one in self.levels if one.start <= place < one.end)


@attrs.frozen
class Series:
    """A case over all runs that were asked for."""

    key: Key
    segments: tuple[Segment, ...]
    uncounted: tuple[StoredCount, ...] = ()
    """Where the case failed, or was only timed."""


def all_series(
    points: Iterable[StoredCount], noises: Noises | None = None, min_effect: MinEffect | None = None
) -> tuple[Series, ...]:
    """A series for each case, in the order of its first point; ``points`` are in order of time."""
    by_case: dict[Key, list[StoredCount]] = {}
    for point in points:
        by_case.setdefault(point.case, []).append(point)
    return tuple(
        _series(key, mine, noises or {}, min_effect or MinEffect()) for key, mine in by_case.items()
    )


def surroundings(base: StoredCount, new: StoredCount) -> tuple[Disagreement, ...]:
    """What else differs between two points besides torch itself."""
    found = disagreements(_side(base), _side(new))
    return tuple(one for one in found if not one.expected)


def count_of(point: StoredCount) -> Instructions:
    """The count of a point that has one."""
    assert point.instructions is not None, "points of a segment are counted"
    return point.instructions


def floor_of(point: StoredCount, noises: Noises) -> float:
    """The noise floor of a point that has a count, as `compare` uses it."""
    known = noises.get(fingerprint_hash(point.fingerprint), {}).get(point.definition_hash)
    counted = count_of(point)
    return noise_floor(counted, counted, point.case[1], [] if known is None else [known])


def _series(
    key: Key, points: Iterable[StoredCount], noises: Noises, min_effect: MinEffect
) -> Series:
    groups: list[list[StoredCount]] = []
    uncounted = []
    for point in points:
        if point.instructions is None:
            uncounted.append(point)
            continue
        # Builds of two machines may take turns: what is comparable belongs together.
        group = next((one for one in groups if not any(_between(one[0], point))), None)
        if group is None:
            groups.append([point])
        else:
            group.append(point)
    segments = []
    for place, group in enumerate(groups):
        counts = [count_of(point).per_run for point in group]
        floors = [floor_of(point, noises) for point in group]
        apart = tuple(_between(groups[place - 1][-1], group[0])) if place else ()
        segments.append(Segment(tuple(group), levels(counts, floors, min_effect), apart))
    return Series(key, tuple(segments), tuple(uncounted))


def _between(base: StoredCount, new: StoredCount) -> Iterator[str]:
    """What keeps two points from being compared."""
    for one in disagreements(_side(base), _side(new)):
        if one.prevents:
            yield f"{one.name} {one.base or 'none'} → {one.new or 'none'}"
    if base.definition_hash != new.definition_hash:
        yield "the code of the case is another one"


def _side(point: StoredCount) -> Side:
    return Side(point.build, point.engine, point.fingerprint, {})
