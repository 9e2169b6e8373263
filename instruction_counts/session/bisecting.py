"""Finding the builds between which a case changed, with few measurements.

Builds are positions in an ordered list. An interval whose ends differ is split in the middle, and
both halves are looked at again, so that several changes are found. A change between two neighbours
counts only when both were measured once more: a reading that was an outlier is replaced then, and
the intervals beside it are judged by what came out.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

import attrs

from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.core.types import Case, CaseKey
from instruction_counts.domain.build import Build, Fingerprint
from instruction_counts.domain.errors import BuildError
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.selection import only_key
from instruction_counts.execution.events import Observer
from instruction_counts.session.build_series import StoreBuildMeasurer
from instruction_counts.session.comparing import ComparisonRequest
from instruction_counts.storage.store import Store


@attrs.frozen
class FoundChange:
    """Where the case changed, and how: after ``before``, and by ``after`` at the latest."""

    before: int
    after: int
    difference: Difference
    broken: tuple[int, ...] = ()
    """Builds between them that cannot be measured: any of them may have made the change."""
    gradual: bool = False
    """Whether measured builds lie between them, of which no two neighbours differ by enough."""


@attrs.frozen
class Found:
    """What a bisection found."""

    key: CaseKey
    builds: tuple[str, ...]
    """Their names, in their order; all else tells builds by their positions."""
    changes: tuple[FoundChange, ...]
    measured: Mapping[int, Fingerprint]
    counts: Mapping[int, int]
    """Instructions per iteration, of the same builds."""
    broken: Mapping[int, str]
    """The builds that were tried and cannot be measured, with the reason."""
    measurements: int
    """How often a build was measured; each of a pair counts."""
    reused: int
    """How many builds were known before."""
    is_sound: bool = True
    """Whether all that was measured is stored, and no build changed meanwhile."""

    @property
    def is_conclusive(self) -> bool:
        """Whether at least two builds could be measured."""
        return len(self.measured) > 1

    @property
    def is_regression(self) -> bool:
        """Whether the case got worse somewhere, or computes something else."""
        return any(change.difference.is_regression for change in self.changes)


def find_changes(
    makers: Mapping[str, Callable[[], Build]],
    request: ComparisonRequest,
    store: Store,
    observer: Observer,
) -> Found:
    """Search builds, the oldest first, for the changes of the one case that is selected.

    ``makers`` make each build when it is needed, by its name.

    Raises:
        UsageError: the selection leaves no case, or several.
        KeyboardInterrupt: it was interrupted; what was measured is stored.
    """
    cases = request.cases()
    only_key([case.key for case in cases], request.selection)
    # Times decide nothing, and take longer than counts.
    request = attrs.evolve(request, settings=attrs.evolve(request.settings, times=False))
    return bisect(makers, cases[0], StoreBuildMeasurer(request, store, observer))


def bisect(
    makers: Mapping[str, Callable[[], Build]], case: Case, measurer: StoreBuildMeasurer
) -> Found:
    """Search builds for changes of a case; a build that cannot be made raises `BuildError`.

    All are found whose intervals have ends that differ; those that cancel each other out can be
    missed.
    """
    search = _Search([*makers.values()], case, measurer)
    places = range(len(makers))
    first = next(filter(search.works, places), None)
    last = next(filter(search.works, reversed(places)), None)
    changes: tuple[FoundChange, ...] = ()
    if first is not None and last is not None:
        changes = tuple(search.changes(first, last))
    sides = dict(sorted(search.sides.items()))
    counts = {place: side.records[case.key].outcome.instructions for place, side in sides.items()}
    return Found(
        *(case.key, tuple(makers), changes),
        measured={place: side.fingerprint for place, side in sides.items()},
        counts={place: counted.per_run for place, counted in counts.items() if counted is not None},
        broken=dict(sorted(search.broken.items())),
        measurements=search.measurements,
        reused=search.reused,
        is_sound=measurer.is_sound,
    )


@attrs.define
class _Search:
    makers: Sequence[Callable[[], Build]]
    case: Case
    measurer: StoreBuildMeasurer
    measurements: int = 0
    reused: int = 0
    builds: dict[int, Build] = attrs.field(factory=dict)
    sides: dict[int, Side] = attrs.field(factory=dict)
    """The latest reading of each build that works."""
    broken: dict[int, str] = attrs.field(factory=dict)

    def works(self, place: int) -> bool:
        """Whether a build starts, has torch, and counts the case; it is measured, unless it was."""
        if place not in self.sides and place not in self.broken:
            try:
                build = self.builds[place] = self.makers[place]()
                side = self.measurer.known(build, self.case)
                if side is not None:
                    self.reused += 1
                else:
                    self.measurements += 1
                    side = self.measurer.measure([build])[build.name]
                self.sides[place] = self._counted(side)
            except BuildError as error:
                self.broken[place] = error.message
        return place in self.sides

    def changes(self, before: int, after: int) -> Iterator[FoundChange]:
        """The changes between two measured builds."""
        if not self._difference(before, after).is_change:
            return
        centre = (before + after) / 2
        places = sorted(range(before + 1, after), key=lambda place: (abs(place - centre), place))
        middle = next(filter(self.works, places), None)
        found: list[FoundChange] = []
        if middle is not None:
            found = [*self.changes(before, middle), *self.changes(middle, after)]
        yield from found
        # Readings may have been replaced meanwhile, so the ends are compared anew.
        if found or not self._difference(before, after).is_change:
            return
        difference = self._verify(before, after)
        if difference.is_change:
            broken = tuple(place for place in sorted(self.broken) if before < place < after)
            yield FoundChange(before, after, difference, broken, gradual=middle is not None)

    def _difference(self, before: int, after: int) -> Difference:
        """What is said of the case on two measured builds, by their latest readings."""
        (found,) = self.measurer.compare(self.sides[before], self.sides[after]).differences
        return found

    def _verify(self, before: int, after: int) -> Difference:
        """Measure both once more, by turns in fresh servers, then in other memory layouts.

        Where that fails, what was read first stands, unverified.
        """
        self.measurements += 2
        builds = self.builds[before], self.builds[after]
        try:
            sides = self.measurer.measure(builds)
            base, new = (self._counted(sides[build.name]) for build in builds)
        except BuildError:
            return self._difference(before, after)
        checked = self.measurer.check(self.measurer.compare(base, new))
        self.sides[before], self.sides[after] = checked.base, checked.new
        (found,) = checked.differences
        return found

    def _counted(self, side: Side) -> Side:
        """The same; a side that has no count of the case is that of a broken build."""
        outcome = side.records[self.case.key].outcome
        if outcome.status is not Status.OK:
            raise BuildError(outcome.failure.summary if outcome.failure else outcome.status.value)
        if outcome.instructions is None:
            raise BuildError("the case was not counted")
        return side
