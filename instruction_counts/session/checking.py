"""Baselines: a run is accepted into one; a stored run, or a build, is checked against one."""

from __future__ import annotations

from pathlib import Path

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.difference import Verdict
from instruction_counts.analysis.verdicts.sides import Side, narrowed
from instruction_counts.builds.missing import Requirement, missing
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.types import Language
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.records import Complete
from instruction_counts.domain.selection import Selection
from instruction_counts.execution.events import Observer
from instruction_counts.gate.accept import Acceptance, accept
from instruction_counts.gate.baseline import Baseline, read_baseline, verified_against
from instruction_counts.gate.gate import FailOn, Gate, Previous, apply_limits, read_previous
from instruction_counts.gate.limits import Limits
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.comparing import Compared, ComparedBuilds
from instruction_counts.session.sides import Runs, read_side
from instruction_counts.session.time_budget import planned
from instruction_counts.sources.definitions import Definitions, load_cases
from instruction_counts.storage.store import Store


@attrs.frozen
class CheckRequest:
    """A baseline, which of its cases are checked, and what they may cost."""

    file: Path
    baseline: Baseline
    """The selected cases of the file."""
    selection: Selection = attrs.field(factory=Selection)
    limits: Limits | None = None
    """None allows no increase."""
    fail_on: FailOn = FailOn.REGRESSION
    allow_different: bool = False
    """Whether another compiler, C library, Python or instruction set is accepted."""
    previous: Previous = attrs.field(factory=Previous)

    @classmethod
    def of(
        cls, file: Path, selection: Selection | None = None, previous: Path | None = None
    ) -> CheckRequest:
        """The request to check the selected cases of ``file``, without limits.

        ``previous`` is the JSON file of the last check, if it exists.

        Raises:
            DataError: a file cannot be read, or holds something else.
        """
        wanted = selection or Selection()
        last = Previous() if previous is None else read_previous(previous)
        return cls(file, selected_cases(read_baseline(file), wanted), wanted, previous=last)

    def compared(self, side: Side, complete: Complete) -> Comparison:
        """The baseline with ``side``.

        Raises:
            UsageError: the counts of ``side`` are other counts, and that is not allowed.
        """
        self.refuse_obstacles(side)
        return self.baseline.compared(side, self.file.name, complete)

    def refuse_obstacles(self, side: Side) -> None:
        """Name what makes the counts of ``side`` other counts.

        Raises:
            UsageError: something does, and is not allowed.
        """
        refused = self.baseline.obstacles(side, allow_different=self.allow_different)
        if not refused:
            return
        texts = "\n  ".join(
            f"{found.name}: {found.base or 'none'} in the baseline, {found.new or 'none'} now"
            for found in refused
        )
        instead = (
            "Check where the baseline was made"
            if any(obstacle.prevents for obstacle in refused)
            else "Compare anyway with --allow-different"
        )
        raise UsageError(
            f"{self.file} was recorded under different conditions:\n  {texts}",
            f"{instead}, or make a new baseline:",
            "baseline accept FILE RUN",
        )

    def check(self, compared: Compared) -> Check:
        """What the limits make of a comparison with the baseline."""
        comparison = compared.comparison
        if compared.interrupted:
            # What was not measured is not missing: nobody knows.
            known = (
                difference
                for difference in comparison.differences
                if difference.verdict is not Verdict.MISSING
            )
            comparison = attrs.evolve(comparison, differences=tuple(known))
        gate = apply_limits(comparison, self.limits, self.fail_on, self.previous.exceeded)
        return Check(gate, compared.interrupted, compared.is_sound)


@attrs.frozen
class Check:
    """A baseline that was compared with something, and what exceeds the limits."""

    gate: Gate
    interrupted: bool = False
    """Whether this is what was found until then."""
    is_sound: bool = True
    """Whether the whole run is stored, where it was to be, and no build changed meanwhile."""

    def require_comparison(self) -> None:
        """Refuse a check of nothing, which did not pass.

        What failed is not refused: that says more.

        Raises:
            UsageError: no case was counted on both sides, with the same code.
        """
        if not (self.gate.compares or self.gate.fails or self.gate.has_failed_cases):
            raise UsageError(
                "nothing was compared: no case was counted on both sides, with the same code",
                "The reasons are above. Check a counted run, or accept one: baseline accept",
            )


def check_run(run: str | Side, request: CheckRequest, runs: Runs) -> Check:
    """Check a stored run, a JSON file or a side against a baseline.

    Raises:
        UsageError: there is no such run, or it cannot be compared with the baseline.
    """
    side = read_side(run, runs) if isinstance(run, str) else run
    side = narrowed(side, request.selection)
    return request.check(Compared(request.compared(side, runs.completed)))


def check_build(
    build: Build,
    request: CheckRequest,
    definitions: Definitions,
    settings: MeasurementSettings,
    store: Store | None,
    observer: Observer,
    *,
    layouts: int | None = None,
    time_budget_s: float | None = None,
) -> Check:
    """Measure ``build`` and check it; suspects are counted again in other memory layouts.

    ``layouts`` are as in `ComparisonRequest`.

    Raises:
        BuildError: the build would pass because it cannot be measured.
        UsageError: its counts cannot be compared with those of the baseline.
    """
    runner = BuildRunner.of([build], settings, observer, store)
    (facts,) = runner.facts
    refuse_unfit(facts, request.baseline)
    # A side without cases is refused for the same reasons, before it takes time.
    fingerprint = settings.fingerprint(facts)
    request.refuse_obstacles(Side(build.name, settings.engine, fingerprint, {}))
    cases = load_cases(definitions, request.selection)
    with runner.keeping() as kept:
        builds = ComparedBuilds(kept, cases)
        measured = builds.measure(
            planned(time_budget_s, cases, store, moved=request.previous.moved)
        )
        comparison = request.compared(measured.sides[build.name], runner.completed)
        compared = Compared(
            comparison, measured.interrupted, measured.run_id, is_sound=measured.is_sound
        )
        if comparison.suspects and layouts != 0 and not compared.interrupted:
            compared = _verified(builds, compared, request.baseline, layouts)
    return request.check(compared)


def _verified(
    builds: ComparedBuilds, compared: Compared, baseline: Baseline, layouts: int | None
) -> Compared:
    """The suspects counted again in layouts of the build; the baseline remembers its own."""
    if not builds.can_verify():
        return compared
    comparison = compared.comparison
    try:
        verified, (new,) = builds.count_again(
            comparison,
            (comparison.new,),
            layouts,
            lambda again: verified_against(comparison, baseline, again.counts[0]),
        )
    except KeyboardInterrupt:
        return attrs.evolve(compared, interrupted=True)
    return attrs.evolve(compared, comparison=attrs.evolve(verified, new=new))


def refuse_unfit(facts: BuildFacts, baseline: Baseline) -> None:
    """Refuse a build that would pass because it cannot be measured.

    Raises:
        BuildError: its instructions cannot be counted, or no C++ where the baseline has some.
    """
    if not facts.can_count:
        raise BuildError(
            f'build "{facts.build.name}": no valgrind on this machine, so nothing can be checked.',
            "apt-get install valgrind     or check a run that was counted elsewhere.",
        )
    has_cpp = any(case.key.language is Language.CPP for case in baseline.cases.values())
    for requirement in missing(facts, {Requirement.COMPILER} if has_cpp else ()):
        raise BuildError(requirement.what, requirement.remedy)


def accept_run(
    run: str,
    file: Path,
    selection: Selection,
    runs: Runs,
    *,
    prune: bool = False,
    allow_different: bool = False,
) -> Acceptance:
    """What the baseline ``file`` becomes with the selected cases of a run; nothing is written.

    Raises:
        UsageError: there is no such run, or it cannot be accepted.
        DataError: ``file`` holds something else.
    """
    return accept_side(
        *(read_side(run, runs), file, selection, runs.completed),
        prune=prune,
        allow_different=allow_different,
    )


def accept_side(
    side: Side,
    file: Path,
    selection: Selection,
    complete: Complete,
    *,
    prune: bool = False,
    allow_different: bool = False,
) -> Acceptance:
    """The same of a side."""
    before = read_baseline(file) if file.exists() else None
    mine = selected_cases(before, selection).cases if before is not None else {}
    return accept(
        before,
        narrowed(side, selection),
        mine,
        prune=prune,
        allow_different=allow_different,
        complete=complete,
    )


def selected_cases(baseline: Baseline, selection: Selection) -> Baseline:
    """The baseline with the selected cases alone."""
    kept = {key: case for key, case in baseline.cases.items() if selection.keeps_key(key)}
    return attrs.evolve(baseline, cases=kept)
