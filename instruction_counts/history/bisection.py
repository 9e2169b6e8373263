"""Finding the builds between which a case changed, with few measurements.

Builds are positions in an ordered list. An interval whose ends differ is split in the middle, and
both halves are looked at again, so that several changes are found. A change between two neighbours
counts only when both were measured once more: a reading that was an outlier is replaced then, and
the intervals beside it are judged by what came out.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Protocol

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison, causes_of, compare
from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.build import Build
from instruction_counts.domain.effects import MIN_EFFECT, Effect
from instruction_counts.domain.errors import BuildError
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Complete, as_it_is


class Measurer(Protocol):
    """Measures the case on builds, and remembers what came out."""

    def measure(self, place: int) -> str | None:
        """Measure a build, once; why it is broken, or None where all went well."""

    def differ(self, before: int, after: int) -> bool:
        """Whether two measured builds differ by more than the noise, by the latest readings."""

    def verify(self, before: int, after: int) -> bool:
        """Measure both once more, replace their readings, and say whether they still differ."""


@attrs.frozen
class Change:
    """Where the case changed: after ``before``, and by ``after`` at the latest."""

    before: int
    after: int
    broken: tuple[int, ...] = ()
    """Builds between them that cannot be measured: any of them may have made the change."""
    gradual: bool = False
    """Whether measured builds lie between them, of which no two neighbours differ by enough."""


@attrs.frozen
class Bisection:
    """What a search found."""

    changes: tuple[Change, ...]
    """In the order of the builds."""
    measured: tuple[int, ...]
    """The builds that were measured."""
    broken: Mapping[int, str]
    """The builds that were tried and are broken, with the reason."""


def bisect(builds: int, measurer: Measurer) -> Bisection:
    """Search ``builds`` builds for changes.

    All are found whose intervals have ends that differ; those that cancel each other out can be
    missed.
    """
    search = _Search(measurer)
    first = next((place for place in range(builds) if search.works(place)), None)
    last = next((place for place in reversed(range(builds)) if search.works(place)), None)
    changes: tuple[Change, ...] = ()
    if first is not None and last is not None and first < last:
        changes = tuple(search.changes(first, last))
    tried = sorted(search.tried.items())
    return Bisection(
        changes,
        tuple(place for place, why in tried if why is None),
        {place: why for place, why in tried if why is not None},
    )


@attrs.define
class _Search:
    measurer: Measurer
    tried: dict[int, str | None] = attrs.field(factory=dict)
    """Why builds are broken; None of those that work."""

    def works(self, place: int) -> bool:
        """Whether a build can be measured; it is, unless it was."""
        if place not in self.tried:
            self.tried[place] = self.measurer.measure(place)
        return self.tried[place] is None

    def changes(self, before: int, after: int) -> Iterator[Change]:
        """The changes between two measured builds."""
        if not self.measurer.differ(before, after):
            return
        middle = self._middle(before, after)
        found: list[Change] = []
        if middle is not None:
            found = [*self.changes(before, middle), *self.changes(middle, after)]
        yield from found
        # Readings may have been replaced meanwhile, so the ends are compared anew.
        differ = not found and self.measurer.differ(before, after)
        if differ and self.measurer.verify(before, after):
            broken = [place for place in range(before + 1, after) if self.tried.get(place)]
            yield Change(before, after, tuple(broken), gradual=middle is not None)

    def _middle(self, before: int, after: int) -> int | None:
        """The build nearest to the middle that can be measured; None where there is none."""
        centre = (before + after) / 2
        places = sorted(range(before + 1, after), key=lambda place: (abs(place - centre), place))
        return next((place for place in places if self.works(place)), None)


# The builds


class BuildMeasurer(Protocol):
    """Where builds are measured.

    Methods that take builds raise `BuildError` where one does not start.
    """

    def known(self, build: Build) -> Side | None:
        """What was measured of this very build before; None where that is not known."""

    def measure(self, builds: Sequence[Build]) -> Mapping[str, Side]:
        """Measure builds now, by turns in fresh servers; the sides by the names of the builds."""

    def check(self, comparison: Comparison) -> Comparison:
        """Count the suspects of a comparison again, in other layouts of what was measured last."""


@attrs.define
class Candidates:
    """The builds of a bisection by position, with the latest reading of each; a `Measurer`."""

    makers: Sequence[Callable[[], Build]]
    """Make the builds; one that cannot be made raises `BuildError`."""
    key: CaseKey
    measurer: BuildMeasurer
    min_effect: Effect = attrs.field(default=MIN_EFFECT)
    sides: dict[int, Side] = attrs.field(factory=dict)
    complete: Complete = attrs.field(default=as_it_is, kw_only=True)
    """Gives the records with their details, from which causes are found."""
    measurements: int = 0
    """How often a build was measured; each of a pair counts."""
    reused: int = 0
    """How many builds were known before."""
    _builds: dict[int, Build] = attrs.field(factory=dict)
    _verified: dict[tuple[int, int], Difference] = attrs.field(factory=dict)

    def measure(self, place: int) -> str | None:
        """See `Measurer`: a broken build does not start, has no torch, or fails the case."""
        try:
            build = self.makers[place]()
            side = self.measurer.known(build)
            if side is not None:
                self.reused += 1
            else:
                self.measurements += 1
                side = self.measurer.measure([build])[build.name]
        except BuildError as error:
            return error.message
        why = self._fault(side)
        if why is None:
            self._builds[place], self.sides[place] = build, side
        return why

    def differ(self, before: int, after: int) -> bool:
        """See `Measurer`."""
        return self.difference(before, after).is_change

    def verify(self, before: int, after: int) -> bool:
        """See `Measurer`: by turns in fresh servers, then in other memory layouts."""
        builds = [self._builds[place] for place in (before, after)]
        try:
            self.measurements += 2
            sides = self.measurer.measure(builds)
        except BuildError:  # it worked a moment ago: what was read then stands, unverified
            return self.differ(before, after)
        new = [sides[build.name] for build in builds]
        if any(self._fault(side) for side in new):
            return self.differ(before, after)
        self.sides.update(zip((before, after), new, strict=True))
        checked = self.measurer.check(self._compared(before, after))
        self.sides[before], self.sides[after] = checked.base, checked.new
        (found,) = checked.differences
        self._verified[before, after] = found
        return found.is_change

    def difference(self, before: int, after: int) -> Difference:
        """What is said of the case on two measured builds; as it was verified, where it was."""
        known = self._verified.get((before, after))
        if known is not None:
            return known
        (found,) = self._compared(before, after).differences
        return found

    def _compared(self, before: int, after: int) -> Comparison:
        causes = functools.partial(causes_of, complete=self.complete)
        return compare(self.sides[before], self.sides[after], self.min_effect, causes)

    def _fault(self, side: Side) -> str | None:
        """Why a side has no count of the case; None where it has one."""
        record = side.records.get(self.key)
        if record is None:
            return "the case was not measured"
        outcome = record.outcome
        if outcome.status is not Status.OK:
            return outcome.failure.summary if outcome.failure else outcome.status.value
        return None if outcome.instructions is not None else "the case was not counted"
