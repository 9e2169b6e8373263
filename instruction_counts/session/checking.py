"""Baselines: a run is accepted into one; a stored run, or a build, is checked against one."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.sides import Disagreement, Side, narrowed
from instruction_counts.builds.missing import missing
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.types import CaseKey, Language
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.selection import Selection, require_matches
from instruction_counts.execution.events import Observer
from instruction_counts.gate.accept import Acceptance, accept
from instruction_counts.gate.baseline import Baseline, read_baseline, to_json
from instruction_counts.gate.limits import FailOn, Gate, Limits, apply_limits, exceeded_in
from instruction_counts.session.builds import BuildRunner
from instruction_counts.session.comparing import Compared, ComparisonRequest, measure_and_judge
from instruction_counts.session.sides import LazyStore, read_side
from instruction_counts.system.files import alone_in, write_output


@attrs.frozen(kw_only=True)
class Check(Compared):
    """A baseline that was compared with something, and what exceeds the limits."""

    gate: Gate

    @classmethod
    def of(
        cls,
        compared: Compared,
        limits: Limits | None = None,
        fail_on: FailOn = FailOn.REGRESSION,
        exceeded: frozenset[CaseKey] = frozenset(),
    ) -> "Check":
        """What limits make of a comparison with a baseline; None allows no increase.

        ``exceeded`` is what exceeded its limit in the last check.
        """
        gate = apply_limits(compared.comparison, limits, fail_on, exceeded)
        return cls(**attrs.asdict(compared, recurse=False), gate=gate)


def check_side(
    asked: str | Side | Build,
    file: Path,
    how: ComparisonRequest,
    runs: LazyStore,
    observer: Observer,
    *,
    limits: Limits | None = None,
    fail_on: FailOn = FailOn.REGRESSION,
    allow_different: bool = False,
    previous: Path | None = None,
) -> Check:
    """Check a run, or a build that is measured now, against the selected cases of a baseline.

    A text names a stored run or a JSON file; ``how`` has the cases. ``allow_different`` accepts
    another compiler, C library, Python or instruction set. ``previous`` is the JSON file of the
    last check, if it exists. Suspects of a build are counted again in other memory layouts.

    Raises:
        BuildError: the build would pass because it cannot be measured.
        UsageError: there is no such run, or it cannot be compared with the baseline.
        DataError: a file cannot be read, or holds something else.
    """
    exceeded = frozenset[CaseKey]() if previous is None else exceeded_in(previous)
    whole = read_baseline(file)
    if limits is not None:
        note_unused(limits, whole.cases, str(file), observer)
    baseline = selected_cases(whole, how.selection)

    def compared(side: Side) -> Comparison:
        _refuse_obstacles(baseline.obstacles(side, allow_different=allow_different), file)
        return baseline.compared(side, file.name)

    if not isinstance(asked, Build):
        stored = read_side(asked, runs)
        require_matches(how.selection, [*whole.cases, *stored.records], stored.shown_by)
        side = narrowed(stored, how.selection)
        return Check.of(Compared(compared(side)), limits, fail_on, exceeded)
    store = runs.opened() if how.stores else None
    runner = BuildRunner.of([asked], how.settings, observer, store)
    (facts,) = runner.facts
    refuse_unfit(facts, baseline)
    # A side without cases is refused for the same reasons, before it takes time.
    fingerprint = how.settings.fingerprint(facts)
    compared(Side(asked.name, how.settings.engine, fingerprint, {}))
    found = measure_and_judge(
        *(runner, how.cases(), how),
        lambda measured: compared(measured[asked.name]),
        baseline=baseline,
    )
    return Check.of(found, limits, fail_on, exceeded)


def note_unused(limits: Limits, keys: Iterable[CaseKey], where: str, observer: Observer) -> None:
    """Name the limits that match none of the cases that ``where`` has."""
    for rule in limits.unused(keys):
        observer.note(f"Limits: no case of {where} matches {rule}")


def _refuse_obstacles(obstacles: Sequence[Disagreement], file: Path) -> None:
    if not obstacles:
        return
    texts = "\n  ".join(
        f"{found.name}: {found.base or 'none'} in the baseline, {found.new or 'none'} now"
        for found in obstacles
    )
    names = {obstacle.name for obstacle in obstacles}
    is_final = any(obstacle.prevents for obstacle in obstacles)
    same = "Name the same --compiler, or c" if "compiler" in names else "C"
    here = f"{same}ompare anyway with --allow-different"
    instead = "Check where the baseline was made" if is_final else here
    raise UsageError(
        f"{file} was recorded under different conditions:\n  {texts}",
        f"{instead}, or make a new baseline:",
        "baseline accept FILE RUN",
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
    """Make or change the baseline ``file``: it has the counts of the selected cases of a run.

    Raises:
        UsageError: there is no such run, or it cannot be accepted; or a glob matches no case; or
            the file cannot be written.
        DataError: ``file`` holds something else.
    """
    side = read_side(run, runs)
    # What another process accepts meanwhile would be lost.
    with alone_in(Path(os.path.realpath(file)).parent):
        before = read_baseline(file) if file.exists() else None
        known = [*side.records, *(before.cases if before else ())]
        require_matches(selection, known, side.shown_by)
        found = accept(
            *(before, narrowed(side, selection), selection),
            prune=prune,
            allow_different=allow_different,
        )
        write_output(file, to_json(found.after))
    return found


def selected_cases(baseline: Baseline, selection: Selection) -> Baseline:
    """The baseline with the selected cases alone."""
    kept = {key: case for key, case in baseline.cases.items() if selection.keeps_key(key)}
    return attrs.evolve(baseline, cases=kept)
