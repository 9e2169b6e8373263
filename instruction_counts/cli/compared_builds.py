"""The builds of a comparison that are measured now."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet

import attrs

from core.types import Case, CaseKey, Language
from instruction_counts.analysis.comparison import Comparison, compare, verified
from instruction_counts.analysis.sides import Side, side_of, with_outputs
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.cli import console
from instruction_counts.cli.time_budget import planned, refuse_nothing
from instruction_counts.domain.build import Build
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.selection import Selection, select
from instruction_counts.engines.engine import Engine
from instruction_counts.engines.entry import Ability
from instruction_counts.engines.registry import engine_named
from instruction_counts.report.comparison import title_of
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.measuring import make_engine
from instruction_counts.session.verification import Verification
from instruction_counts.sources.definitions import Definitions, load
from instruction_counts.storage.noise import keep_noises, read_noises
from instruction_counts.storage.store import Store


@attrs.define
class ComparedBuilds:
    """What is measured for a comparison: the cases, then the suspects again."""

    definitions: Definitions
    selection: Selection
    measuring: MeasurementSettings
    store: Store | None
    """Where the run is stored; None where nothing is measured."""
    time_budget_s: float | None = None
    """For the first measurement; suspects are counted again in any case."""
    moved_before: AbstractSet[CaseKey] = frozenset()
    """What the last check found to be worse or better; it is measured first."""
    interrupted: bool = False
    _runner: BuildRunner | None = None
    _cases: tuple[Case, ...] = ()

    def sides(self, builds: Sequence[Build]) -> dict[str, Side]:
        """Measure ``builds`` now; what one cannot run is a case that was skipped.

        Raises:
            UsageError: the budget of time was used up before the first case started.
        """
        self._cases = select(load(self.definitions), self.selection)
        runner = BuildRunner.of(builds, self.measuring, console, self.store)
        self._runner = runner
        plan = planned(
            self.time_budget_s, self._cases, runner.names, self.store, moved=self.moved_before
        )
        measured = runner.run(runner.orders(self._cases, skip=True), budget=plan)
        self.interrupted = measured.interrupted
        refuse_nothing(measured.run)
        title = "" if measured.run_id is None else f"run {measured.run_id}, "
        return {
            build.name: side_of(measured.run, build.name, title + build.name) for build in builds
        }

    def check(self, comparison: Comparison, layouts: int) -> Comparison:
        """Compare what C++ suspects compute, and count all suspects again in other layouts."""
        if not engine_named(self.measuring.engine).can(Ability.LAYOUTS):
            console.note(f"Nothing is verified: the {self.measuring.engine} engine has one layout.")
            return comparison
        try:
            found = self._with_outputs(comparison)
            if not found.suspects:
                return found
            base, new = self.count_again(found, (found.base, found.new), layouts)
        except KeyboardInterrupt:
            self.interrupted = True
            return comparison
        return verified(found, base, new)

    def count_again(
        self, comparison: Comparison, sides: Sequence[Side], layouts: int
    ) -> list[list[dict[CaseKey, int]]]:
        """The counts of the suspects in other layouts: for each build that is measured, by layout.

        ``sides`` are these builds; what layouts were seen to move them by is kept.
        """
        counts = self._verification.count(self._suspects(comparison), layouts)
        for side, of_side in zip(sides, counts, strict=True):
            keep_noises(side.fingerprint, _layout_noise(side, of_side), console.error)
        return counts

    @property
    def _verification(self) -> Verification:
        runner = self._runner
        assert runner is not None, "what is verified was measured"
        return Verification(
            *(runner.facts, self._make_engine, self.measuring.pool(), runner.lanes, console),
            self.measuring.order,
        )

    def _with_outputs(self, comparison: Comparison) -> Comparison:
        cases = [
            case for case in self._suspects(comparison) if case.autolabels.language is Language.CPP
        ]
        if not cases:
            return comparison
        base, new = (
            with_outputs(side, found)
            for side, found in zip(
                (comparison.base, comparison.new), self._verification.outputs(cases), strict=True
            )
        )
        return compare(base, new, read_noises(), comparison.min_effect)

    def _suspects(self, comparison: Comparison) -> list[Case]:
        keys = {one.key for one in comparison.suspects}
        return [case for case in self._cases if case.key in keys]

    def _make_engine(self, facts: BuildFacts, layout: int) -> Engine:
        profile = self.measuring.profile(layout=layout)
        return make_engine(self.measuring.engine, facts, profile, console.note)


def _layout_noise(side: Side, layouts: Sequence[Mapping[CaseKey, int]]) -> dict[str, Noise]:
    """What layouts moved each case by, by definition hash."""
    found = {}
    for key in {key for counts in layouts for key in counts}:
        record = side.records[key]
        counted = record.outcome.instructions
        counts = [one[key] for one in layouts if key in one]
        if counted is not None and len(counts) == len(layouts):
            counts.append(counted.per_run)
            spread = (max(counts) - min(counts)) / max(1, *counts)
            title = title_of(key)
            found[record.definition_hash] = Noise(title, 0.0, spread, len(layouts))
    return found
