"""The builds of a bisection: made when they are needed, measured once, verified in pairs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

import attrs

from core.types import CaseKey
from instruction_counts.analysis.verdicts.comparison import Comparison, causes_of, compare
from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.build import Build
from instruction_counts.domain.effects import MIN_EFFECT, Effect
from instruction_counts.domain.errors import BuildError
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Complete, as_it_is


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
        return is_change(self.difference(before, after))

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
        return is_change(found)

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


def is_change(difference: Difference) -> bool:
    """Whether a case got better or worse, or computes something else."""
    return (
        difference.verdict in {Verdict.BETTER, Verdict.WORSE}
        or difference.reason is Reason.OUTPUT_DIFFERS
    )


def is_regression(difference: Difference) -> bool:
    """Whether a case got worse, or computes something else."""
    return is_change(difference) and difference.verdict is not Verdict.BETTER
