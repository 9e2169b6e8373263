"""Baselines: a run is accepted into one; a stored run, or a build, is checked against one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.difference import Verdict
from instruction_counts.analysis.verdicts.sides import Side, narrowed
from instruction_counts.builds.missing import missing
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.types import CaseKey, Language
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.records import Complete, as_it_is
from instruction_counts.domain.selection import Selection
from instruction_counts.execution.events import Observer
from instruction_counts.gate.accept import Acceptance, accept
from instruction_counts.gate.baseline import Baseline, read_baseline, verified_against
from instruction_counts.gate.gate import FailOn, Gate, apply_limits, exceeded_in
from instruction_counts.gate.limits import Limits
from instruction_counts.session.builds import BuildRunner
from instruction_counts.session.comparing import (
    Compared,
    ComparisonRequest,
    can_verify,
    count_again,
    measure_and_judge,
)
from instruction_counts.session.sides import LazyStore, read_side
from instruction_counts.sources.definitions import load_cases


@attrs.frozen
class CheckRequest:
    """A baseline, which of its cases are checked, and what they may cost."""

    file: Path
    baseline: Baseline
    """The selected cases of the file."""
    limits: Limits | None = None
    """None allows no increase."""
    fail_on: FailOn = FailOn.REGRESSION
    allow_different: bool = False
    """Whether another compiler, C library, Python or instruction set is accepted."""
    exceeded: frozenset[CaseKey] = frozenset()
    """What exceeded its limit in the last check."""

    @classmethod
    def of(
        cls, file: Path, selection: Selection, previous: Path | None = None, **how: Any
    ) -> CheckRequest:
        """The request to check the selected cases of ``file``; ``how`` are further fields.

        ``previous`` is the JSON file of the last check, if it exists.

        Raises:
            DataError: a file cannot be read, or holds something else.
        """
        exceeded = frozenset() if previous is None else exceeded_in(previous)
        cases = selected_cases(read_baseline(file), selection)
        return cls(file, cases, exceeded=exceeded, **how)

    def compared(self, side: Side, complete: Complete) -> Comparison:
        """The baseline with ``side``.

        Raises:
            UsageError: the counts of ``side`` are other counts, and that is not allowed.
        """
        refused = self.baseline.obstacles(side, allow_different=self.allow_different)
        if not refused:
            return self.baseline.compared(side, self.file.name, complete)
        texts = "\n  ".join(
            f"{found.name}: {found.base or 'none'} in the baseline, {found.new or 'none'} now"
            for found in refused
        )
        is_final = any(obstacle.prevents for obstacle in refused)
        here = "Compare anyway with --allow-different"
        instead = "Check where the baseline was made" if is_final else here
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
        gate = apply_limits(comparison, self.limits, self.fail_on, self.exceeded)
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

        Raises:
            UsageError: no case was counted on both sides, with the same code.
        """
        if not (self.gate.compares or self.gate.fails or self.gate.has_failed_cases):
            raise UsageError(
                "nothing was compared: no case with the same code has a count in both",
                "The reasons are above. Check a counted run, or accept one: baseline accept",
            )


def check_side(
    asked: str | Side | Build,
    request: CheckRequest,
    how: ComparisonRequest,
    runs: LazyStore,
    observer: Observer,
) -> Check:
    """Check a run, or a build that is measured now, against a baseline; ``how`` has the cases.

    A text names a stored run or a JSON file. Suspects of a build are counted again in other memory
    layouts.

    Raises:
        BuildError: the build would pass because it cannot be measured.
        UsageError: there is no such run, or it cannot be compared with the baseline.
    """
    if not isinstance(asked, Build):
        side = narrowed(read_side(asked, runs), how.selection)
        return request.check(Compared(request.compared(side, runs.completed)))
    store = runs.opened() if how.stores else None
    runner = BuildRunner.of([asked], how.settings, observer, store)
    (facts,) = runner.facts
    refuse_unfit(facts, request.baseline)
    # A side without cases is refused for the same reasons, before it takes time.
    fingerprint = how.settings.fingerprint(facts)
    request.compared(Side(asked.name, how.settings.engine, fingerprint, {}), as_it_is)
    cases = load_cases(how.definitions, how.selection)

    def verify(comparison: Comparison) -> Comparison:
        if not comparison.suspects or not can_verify(kept):
            return comparison
        return count_again(  # the baseline remembers its own layouts
            *(kept, cases, comparison, how.layouts),
            lambda again: verified_against(comparison, request.baseline, again.counts[0]),
        )

    with runner.keeping() as kept:
        return request.check(
            measure_and_judge(
                *(kept, cases, how),
                lambda measured: request.compared(measured[asked.name], kept.completed),
                verify,
            )
        )


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
    for requirement in missing(facts) if has_cpp else ():
        raise BuildError(requirement.what, requirement.remedy)


def accept_run(
    run: str | Side,
    file: Path,
    selection: Selection,
    runs: LazyStore,
    *,
    prune: bool = False,
    allow_different: bool = False,
) -> Acceptance:
    """What the baseline ``file`` becomes with the selected cases of a run; nothing is written.

    Raises:
        UsageError: there is no such run, or it cannot be accepted.
        DataError: ``file`` holds something else.
    """
    return accept(
        read_baseline(file) if file.exists() else None,
        narrowed(read_side(run, runs), selection),
        selection,
        prune=prune,
        allow_different=allow_different,
        complete=runs.completed,
    )


def selected_cases(baseline: Baseline, selection: Selection) -> Baseline:
    """The baseline with the selected cases alone."""
    kept = {key: case for key, case in baseline.cases.items() if selection.keeps_key(key)}
    return attrs.evolve(baseline, cases=kept)
