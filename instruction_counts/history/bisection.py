"""Finding the builds between which a case changed, with few measurements.

Builds are positions in an ordered list. An interval whose ends differ is split in the middle, and
both halves are looked at again, so that several changes are found. A change between two neighbours
counts only when both were measured once more: a reading that was an outlier is replaced then, and
the intervals beside it are judged by what came out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Protocol

import attrs


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
    ends: tuple[int, int] | None
    """The first and the last build that could be measured; None where fewer than two could."""


def bisect(builds: int, measurer: Measurer, *, thorough: bool = False) -> Bisection:
    """Search ``builds`` builds for changes.

    All are found whose intervals have ends that differ. Changes that cancel each other out can be
    missed; ``thorough`` looks into every interval, and so measures every build.
    """
    return _Search(measurer, thorough).over(builds)


@attrs.define
class _Search:
    measurer: Measurer
    thorough: bool
    _tried: dict[int, str | None] = attrs.field(factory=dict)

    def over(self, builds: int) -> Bisection:
        """Look at all builds."""
        first = next((place for place in range(builds) if self._works(place)), None)
        last = next((place for place in reversed(range(builds)) if self._works(place)), None)
        changes: tuple[Change, ...] = ()
        ends = None
        if first is not None and last is not None and first < last:
            ends = first, last
            changes = tuple(self._changes(first, last))
        return Bisection(
            changes,
            tuple(sorted(place for place, why in self._tried.items() if why is None)),
            {place: why for place, why in sorted(self._tried.items()) if why is not None},
            ends,
        )

    def _works(self, place: int) -> bool:
        if place not in self._tried:
            self._tried[place] = self.measurer.measure(place)
        return self._tried[place] is None

    def _changes(self, before: int, after: int) -> Iterator[Change]:
        """The changes between two measured builds."""
        if not self.thorough and not self.measurer.differ(before, after):
            return
        middle = self._middle(before, after)
        if middle is None:
            if self.measurer.differ(before, after) and self.measurer.verify(before, after):
                yield Change(before, after, tuple(range(before + 1, after)))
            return
        found = [*self._changes(before, middle), *self._changes(middle, after)]
        # Readings may have been replaced meanwhile, so the ends are compared anew.
        if not found and self.measurer.differ(before, after):
            if self.measurer.verify(before, after):
                broken = [place for place in range(before + 1, after) if self._tried.get(place)]
                yield Change(before, after, tuple(broken), gradual=True)
            return
        yield from found

    def _middle(self, before: int, after: int) -> int | None:
        """The build nearest to the middle that can be measured; None where there is none."""
        centre = (before + after) / 2
        places = sorted(range(before + 1, after), key=lambda place: (abs(place - centre), place))
        return next((place for place in places if self._works(place)), None)
