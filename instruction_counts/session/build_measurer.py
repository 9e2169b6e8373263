"""Builds measured for a bisection or a watch, and what the store knows of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.sides import Side, side_of
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.types import Case
from instruction_counts.domain.build import Build
from instruction_counts.domain.fingerprint import fingerprint_hash
from instruction_counts.domain.selection import Selection
from instruction_counts.execution.events import Observer
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.comparing import ComparedBuilds, MeasuredSides
from instruction_counts.sources.definitions import Definitions, load_cases
from instruction_counts.storage.store import Store


@attrs.define
class StoreBuildMeasurer:
    """Measures builds as `compare` does, or takes them from the store; a `BuildMeasurer`."""

    definitions: Definitions
    selection: Selection
    measuring: MeasurementSettings
    store: Store
    layouts: int | None
    observer: Observer
    case: Case | None = None
    """The one case whose stored counts may be used; None measures everything anew."""
    _last: ComparedBuilds | None = None
    _probe: Callable[[Build], BuildFacts] | None = None
    is_sound: bool = attrs.field(default=True, init=False)
    """Whether all that was measured is stored, and no build changed meanwhile."""

    def known(self, build: Build) -> Side | None:
        """See `BuildMeasurer`.

        A build is known by its name and its fingerprint: two builds of one commit with different
        patches have the same fingerprint.
        """
        facts = (self._probe or self.measuring.probe)(build)
        if self.case is None:
            return None
        with_engine = fingerprint_hash(self.measuring.fingerprint(facts))
        key = self.case.key
        for count in reversed(self.store.counts([key])):
            if (
                (count.build, count.engine) == (build.name, self.measuring.engine)
                and count.definition_hash == self.case.definition_hash
                and count.instructions is not None
                and fingerprint_hash(count.fingerprint) == with_engine
            ):
                run = self.store.load(count.run_id, details=False)
                title = f"run {count.run_id}, {build.name}"
                side = side_of(run, build.name, title, count.run_id)
                if side.changed_files is not None:
                    continue  # it may have counted other code
                self.observer.note(f"{build.name}: known from run {count.run_id}")
                return attrs.evolve(side, records={key: side.records[key]})
        return None

    def measure(self, builds: Sequence[Build]) -> Mapping[str, Side]:
        """See `BuildMeasurer`."""
        return self.measured(builds).sides

    def measured(self, builds: Sequence[Build]) -> MeasuredSides:
        """The same, with the number of the run."""
        cases = load_cases(self.definitions, self.selection)
        runner = BuildRunner.of(builds, self.measuring, self.observer, self.store)
        self._last = ComparedBuilds(runner, cases)
        measured = self._last.measure()
        self.is_sound = self.is_sound and measured.is_sound
        if measured.interrupted:
            raise KeyboardInterrupt
        return measured

    def check(self, comparison: Comparison) -> Comparison:
        """See `BuildMeasurer`."""
        assert self._last is not None, "something was measured"
        if self.layouts == 0 or not comparison.suspects:
            return comparison
        checked = self._last.verify(comparison, self.layouts)
        if checked.interrupted:
            raise KeyboardInterrupt
        return checked.comparison
