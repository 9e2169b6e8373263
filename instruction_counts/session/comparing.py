"""Comparing two sides, each stored or measured now: measure, judge, and verify what differs."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence

import attrs

from instruction_counts.analysis.verdicts.comparison import (
    Comparison,
    causes_of,
    changed_by_counts,
    compare,
    settled,
    verified,
)
from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.analysis.verdicts.sides import (
    Side,
    narrowed,
    side_of,
    with_noise,
    with_outputs,
)
from instruction_counts.core.types import Case, CaseKey, Language
from instruction_counts.domain.build import Build
from instruction_counts.domain.effects import MIN_EFFECT, Effect
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.selection import Selection
from instruction_counts.engines.entry import Ability
from instruction_counts.engines.registry import engine_named
from instruction_counts.execution.events import Observer
from instruction_counts.execution.order import Budget
from instruction_counts.session.builds import BuildRunner, MeasurementSettings, RunnerOf
from instruction_counts.session.lazy_store import LazyStore
from instruction_counts.session.sides import read_side
from instruction_counts.session.time_budget import planned, require_measured
from instruction_counts.session.verification import FRESH_SERVERS, Recounted, Verification
from instruction_counts.sources.definitions import Definitions, load_cases


@attrs.frozen
class MeasuredSides:
    """Builds that were measured by turns."""

    sides: Mapping[str, Side]
    """By the name of the build."""
    run_id: int | None = None
    """The number of the run that holds them; None where nothing stores it."""
    interrupted: bool = False
    is_sound: bool = True
    """Whether the whole run is stored, where it was to be, and no build changed meanwhile."""


@attrs.frozen
class Compared:
    """A comparison, and how it came to its end."""

    comparison: Comparison
    interrupted: bool = False
    run_id: int | None = None
    """The run of what was measured for it; None where nothing was, or it is not stored."""
    is_sound: bool = True
    """Whether the whole run is stored, where it was to be, and no build changed meanwhile."""
    measured: tuple[str, ...] = ()
    """The names of the builds that were measured for it, in their order."""

    def names_of(self, asked: Sequence[str]) -> tuple[str, ...]:
        """What the sides are called from now on, where they were ``asked`` for so; or nothing."""
        if not self.measured:
            return tuple(asked)
        if self.run_id is None:
            return ()
        if len(self.measured) == 2:
            return (str(self.run_id),)
        base, new = self.comparison.base, self.comparison.new
        return tuple(
            str(self.run_id) if side.run_id == self.run_id else name
            for side, name in zip((base, new), asked, strict=True)
        )


@attrs.frozen
class ComparedBuilds:
    """Cases on builds: measured by turns, and the suspects of a comparison once more."""

    runner: BuildRunner
    cases: tuple[Case, ...]

    def measure(self, budget: Budget | None = None) -> MeasuredSides:
        """Measure the builds now; what one of them cannot run is a case that was skipped.

        Raises:
            UsageError: the budget of time was used up before the first case started.
            BuildError: an engine cannot start.
        """
        orders = self.runner.orders(self.cases, skip=True)
        measured = self.runner.run(orders, budget=budget)
        require_measured(measured.run)
        title = "" if measured.run_id is None else f"run {measured.run_id}, "
        sides = {
            name: side_of(measured.run, name, title + name, measured.run_id)
            for name in self.runner.names
        }
        return MeasuredSides(
            sides, measured.run_id, measured.interrupted, is_sound=measured.is_sound
        )

    def verify(self, comparison: Comparison, layouts: int | None) -> Compared:
        """Compare what C++ suspects compute, and count all suspects again in other layouts.

        ``layouts`` are as in `Verification.count`.
        """
        if not self.can_verify():
            return Compared(comparison)
        try:
            found = self._with_outputs(comparison)
            if not found.suspects:
                return Compared(found)
            checked, sides = self.count_again(
                found,
                (found.base, found.new),
                layouts,
                lambda again: verified(
                    found, again.counts[0], again.counts[1], functions=again.functions
                ),
            )
        except KeyboardInterrupt:
            return Compared(comparison, interrupted=True)
        return Compared(attrs.evolve(checked, base=sides[0], new=sides[1]))

    def count_again(
        self,
        comparison: Comparison,
        sides: Sequence[Side],
        layouts: int | None,
        judged: Callable[[Recounted], Comparison],
    ) -> tuple[Comparison, list[Side]]:
        """What is ``judged`` of the suspects, counted in other layouts on each measured build.

        Children cannot move what lay in a server before it forked, types and names above all: what
        they find changed although the program is the same, fresh servers have to find changed, too.

        ``sides`` are the measured builds. They come back with what layouts were seen to move their
        cases by, which is stored with their run, too: where these were layouts of whole servers.
        """
        verification = Verification(self.runner)
        again = verification.count(self._cases_of(comparison.suspects), layouts)
        checked = judged(again)
        if layouts is None:
            unsettled = changed_by_counts(checked)
            if unsettled:
                fresh = verification.count(self._cases_of(unsettled), FRESH_SERVERS)
                checked = settled(checked, unsettled, judged(again.followed_by(fresh)))
            return checked, list(sides)
        found = []
        for name, side, of_side in zip(self.runner.names, sides, again.counts, strict=True):
            noises = _layout_noise(side, of_side)
            self.runner.store_noises(side.run_id, name, noises)
            found.append(with_noise(side, noises))
        return checked, found

    def can_verify(self) -> bool:
        """Whether the engine can count in other layouts; where not, the observer learns it."""
        engine = self.runner.settings.engine
        if engine_named(engine).can(Ability.LAYOUTS):
            return True
        self.runner.observer.note(
            f"Candidates are not verified: the {engine} engine has only one memory layout."
        )
        return False

    def _with_outputs(self, comparison: Comparison) -> Comparison:
        cases = [
            case
            for case in self._cases_of(comparison.suspects)
            if case.autolabels.language is Language.CPP
        ]
        if not cases:
            return comparison
        outputs = Verification(self.runner).outputs(cases)
        base, new = (
            with_outputs(side, found)
            for side, found in zip((comparison.base, comparison.new), outputs, strict=True)
        )
        causes = functools.partial(causes_of, complete=self.runner.completed)
        return compare(base, new, comparison.min_effect, causes)

    def _cases_of(self, differences: Iterable[Difference]) -> list[Case]:
        keys = {difference.key for difference in differences}
        return [case for case in self.cases if case.key in keys]


@attrs.frozen
class ComparisonRequest:
    """Which cases are compared, and how."""

    definitions: Definitions
    selection: Selection = attrs.field(factory=Selection)
    settings: MeasurementSettings = attrs.field(factory=MeasurementSettings)
    min_effect: Effect = attrs.field(default=MIN_EFFECT)
    layouts: int | None = None
    """In how many memory layouts suspects are counted again, each in servers of its own; None: in
    a few layouts of the servers that are there."""
    time_budget_s: float | None = None
    """For the first measurement; suspects are counted again in any case."""
    defined_only: bool = False
    """Whether cases of stored sides that are not in the definitions are left out, too."""
    stores: bool = True
    """Whether what is measured becomes a stored run."""


def compare_sides(
    base: str | Side | Build,
    new: str | Side | Build,
    request: ComparisonRequest,
    runs: LazyStore,
    observer: Observer,
    runner_of: RunnerOf = BuildRunner.of,
) -> Compared:
    """Compare two sides: a build is measured now, a text names a stored run or a JSON file.

    Where both are measured, cases that differ are counted again before they are reported.

    Raises:
        UsageError: a side is not there, or has no case that is asked for.
        BuildError: a build cannot be measured.
    """
    builds = [side for side in (base, new) if isinstance(side, Build)]
    # First: what is not there must not cost a measurement.
    known = [
        side if isinstance(side, Build) else _known_side(side, request, runs)
        for side in (base, new)
    ]
    measured, compared_builds = MeasuredSides({}), None
    with contextlib.ExitStack() as stack:
        if builds:
            store = runs.opened() if request.stores else None
            cases = load_cases(request.definitions, request.selection)
            runner = runner_of(builds, request.settings, observer, store)
            compared_builds = ComparedBuilds(stack.enter_context(runner.keeping()), cases)
            measured = compared_builds.measure(planned(request.time_budget_s, cases, store))
        before, after = (
            measured.sides[side.name] if isinstance(side, Build) else side for side in known
        )
        causes = functools.partial(causes_of, complete=runs.completed)
        comparison = compare(before, after, request.min_effect, causes)
        is_verified = len(builds) == 2 and comparison.suspects and request.layouts != 0
        found = Compared(comparison, measured.interrupted)
        if compared_builds is not None and is_verified and not measured.interrupted:
            found = compared_builds.verify(comparison, request.layouts)
    return attrs.evolve(
        found,
        run_id=measured.run_id,
        is_sound=measured.is_sound,
        measured=tuple(build.name for build in builds),
    )


def _known_side(asked: str | Side, request: ComparisonRequest, runs: LazyStore) -> Side:
    side = read_side(asked, runs) if isinstance(asked, str) else asked
    side = narrowed(side, request.selection)
    if not request.defined_only:
        return side
    keys = frozenset(case.key for case in load_cases(request.definitions, request.selection))
    kept = {key: record for key, record in side.records.items() if key in keys}
    if not kept:
        problem = f"{side.title} contains no cases from these definitions"
        raise UsageError(problem, "See:", "runs show")
    return attrs.evolve(side, records=kept)


def _layout_noise(side: Side, layouts: Sequence[Mapping[CaseKey, int]]) -> dict[CaseKey, Noise]:
    """What layouts moved each case by."""
    found = {}
    for key in {key for counts in layouts for key in counts}:
        record = side.records[key]
        counted = record.outcome.instructions
        counts = [by_key[key] for by_key in layouts if key in by_key]
        if counted is not None and len(counts) == len(layouts):
            counts.append(counted.per_run)
            spread = min(1.0, (max(counts) - min(counts)) / max(1, *counts))
            found[key] = Noise(layout_spread=spread, layouts=len(layouts))
    return found
