"""Comparing two sides, each stored or measured now: measure, judge, and verify what differs."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import attrs

from instruction_counts.analysis.verdicts.beside import compare_outputs
from instruction_counts.analysis.verdicts.comparison import (
    Comparison,
    changed_by_counts,
    compare,
    settled,
    verified,
)
from instruction_counts.analysis.verdicts.difference import (
    Difference,
    Reason,
    Verdict,
    usual_spread,
)
from instruction_counts.analysis.verdicts.sides import Side, narrowed, with_noise, with_outputs
from instruction_counts.core.types import Case, CaseKey, Language
from instruction_counts.domain.build import Build
from instruction_counts.domain.effects import MIN_EFFECT, Effect, Noise
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import FunctionCosts, Output
from instruction_counts.domain.selection import Selection, require_matches
from instruction_counts.engines.registry import engine_named
from instruction_counts.execution.events import Finished, Observer
from instruction_counts.gate.baseline import Baseline, verified_against
from instruction_counts.session.builds import BuildRunner, MeasurementSettings, RunnerOf
from instruction_counts.session.devices import is_on_cuda
from instruction_counts.session.pairing import timed_in_turns
from instruction_counts.session.sides import LazyStore, read_side
from instruction_counts.sources.definitions import Definitions, load_cases


@attrs.frozen
class Compared:
    """A comparison, and how it came to its end."""

    comparison: Comparison
    interrupted: bool = False
    """Whether this is what was found until then."""
    is_sound: bool = True
    """Whether the whole run is stored, where it was to be, and no build changed meanwhile."""
    run_id: int | None = None
    """The run of what was measured for it; None where nothing was, or it is not stored."""
    measured: tuple[str, ...] = ()
    """The names of the builds that were measured for it, in their order."""
    has_rest: bool = False
    """Whether it was interrupted before all was measured; not while that was verified or timed."""

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


class VerificationInterrupted(KeyboardInterrupt):
    """Verification was interrupted; ``comparison`` has what was settled until then."""

    def __init__(self, comparison: Comparison) -> None:
        super().__init__()
        self.comparison = comparison


@attrs.frozen
class ComparisonRequest:
    """Which cases are compared, and how."""

    definitions: Definitions
    selection: Selection = attrs.field(factory=Selection)
    settings: MeasurementSettings = attrs.field(factory=MeasurementSettings)
    min_effect: Effect = attrs.field(default=MIN_EFFECT)
    layouts: int | None = None
    """In how many memory layouts suspects are counted again, each in servers of its own; None: in
    a few layouts of the servers that are there. 0 trusts what was counted first."""
    time_budget_s: float | None = None
    """For the first measurement, and then for times in turns; suspects are counted again in any
    case."""
    defined_only: bool = False
    """Whether cases of stored sides that are not in the definitions are left out, too."""
    stores: bool = True
    """Whether what is measured becomes a stored run."""

    def cases(self) -> tuple[Case, ...]:
        """The selected cases, as they are measured; see `load_cases`."""
        return load_cases(self.definitions, self.selection)


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
    asked = [side if isinstance(side, Build) else read_side(side, runs) for side in (base, new)]
    builds = [side for side in asked if isinstance(side, Build)]
    stored = [side for side in asked if isinstance(side, Side)]
    if not builds:  # whose cases are those of the definitions
        keys = [key for side in stored for key in side.records]
        require_matches(request.selection, keys, stored[0].shown_by)
    # First: what is not there must not cost a measurement.
    known = [side if isinstance(side, Build) else _known_side(side, request) for side in asked]

    def judge(measured: Mapping[str, Side]) -> Comparison:
        before, after = (measured[it.name] if isinstance(it, Build) else it for it in known)
        return compare(before, after, request.min_effect)

    if not builds:
        return Compared(judge({}))
    cases = request.cases()
    store = runs.opened() if request.stores else None
    in_turns = len(builds) == 2 and request.settings.times_in_turns
    runner = runner_of(builds, request.settings, observer, store)
    return measure_and_judge(runner, cases, request, judge, in_turns=in_turns)


def measure_and_judge(
    runner: BuildRunner,
    cases: Sequence[Case],
    request: ComparisonRequest,
    judge: Callable[[Mapping[str, Side]], Comparison],
    *,
    baseline: Baseline | None = None,
    in_turns: bool = False,
) -> Compared:
    """Measure builds, ``judge`` them by their names, and verify that, unless interrupted.

    Two builds are verified, and one that is judged beside a ``baseline``. ``in_turns`` takes the
    times of both, after what else is measured. What a build cannot run is a case that was skipped.

    Raises:
        UsageError: the budget of time was used up before the first case started.
        BuildError: an engine cannot start.
    """
    with runner.keeping() as kept:
        orders, budget_s = kept.orders(cases, skip=True), request.time_budget_s
        if in_turns:  # all but what runs on a device by itself
            orders = [attrs.evolve(of, times=of.times and is_on_cuda(of.case)) for of in orders]
        end = math.inf if budget_s is None else time.monotonic() + budget_s
        measured = kept.run(orders, time_budget_s=budget_s)
        sides: Mapping[str, Side] = measured.sides
        interrupted = measured.interrupted
        if in_turns and not interrupted:
            sides, interrupted = timed_in_turns(kept, cases, sides, end)
        comparison = judge(sides)
        if (baseline is not None or len(kept.facts) == 2) and not interrupted:
            try:
                comparison = verify(kept, cases, comparison, request.layouts, baseline)
            except VerificationInterrupted as stop:
                comparison, interrupted = stop.comparison, True
            except KeyboardInterrupt:
                interrupted = True
    if interrupted:
        # What was not measured is not missing: nobody knows.
        one_sided = {Verdict.ADDED, Verdict.MISSING}
        known = (of for of in comparison.differences if of.verdict not in one_sided)
        comparison = attrs.evolve(comparison, differences=tuple(known))
    return Compared(
        *(comparison, interrupted, measured.run.is_sound, measured.run_id, runner.names),
        has_rest=measured.interrupted,
    )


# Measuring suspects again: in several memory layouts of each build

LAYOUTS_OF_A_SERVER = 3
"""In how many layouts a server that is there counts a suspect, unless more are asked for."""
FRESH_SERVERS = 2
"""How many servers of a build then have to agree, each with all of its memory in another layout."""


@attrs.frozen
class Recounted:
    """What was counted of cases in further layouts: for each build, one mapping for each layout."""

    counts: list[list[dict[CaseKey, int]]]
    """What the cases cost; one that failed in a layout is not in it."""
    functions: list[list[dict[CaseKey, FunctionCosts]]]
    """What their functions cost, where that is known."""

    def followed_by(self, other: "Recounted") -> "Recounted":
        """These layouts, then those of ``other``."""
        counts = zip(self.counts, other.counts, strict=True)
        functions = zip(self.functions, other.functions, strict=True)
        return Recounted(
            [[*before, *after] for before, after in counts],
            [[*before, *after] for before, after in functions],
        )


def recount(runner: BuildRunner, cases: Sequence[Case], layouts: int | None) -> Recounted:
    """Count ``cases`` in other layouts, on each build of ``runner``.

    Builds count a case one after the other on the same lane. A case that fails in a layout has
    no count there. Each of ``layouts`` has servers of its own: types, names and libraries lie
    elsewhere in it, too. None asks for a few layouts of the servers that are there, in which
    what a case allocates lies elsewhere.
    """
    if layouts is None:
        rounds = [range(1, LAYOUTS_OF_A_SERVER + 1)]
    else:
        rounds = [range(layout, layout + 1) for layout in range(1, layouts + 1)]
    total = rounds[-1][-1]
    counts: list[list[dict[CaseKey, int]]] = [[{} for _ in range(total)] for _ in runner.names]
    functions: list[list[dict[CaseKey, FunctionCosts]]]
    functions = [[{} for _ in range(total)] for _ in runner.names]
    for shared in rounds:
        which = f"layout {shared[0]} of {total} by fresh servers"
        if len(shared) > 1:
            which = f"layouts {shared[0]} to {shared[-1]}"
        plural = "" if len(cases) == 1 else "s"
        runner.observer.note(f"Verifying {len(cases)} case{plural} in memory {which}")
        for done in _measure(runner, cases, shared, times=False):
            order, counted = done.order, done.outcome.instructions
            place, layout = runner.names.index(order.build.name), order.layout - 1
            if counted is not None:
                counts[place][layout][order.case.key] = counted.per_run
                if done.outcome.functions is not None:
                    functions[place][layout][order.case.key] = done.outcome.functions
    return Recounted(counts, functions)


def outputs_of(
    runner: BuildRunner, cases: Sequence[Case], layout: int = 0
) -> list[dict[CaseKey, Output]]:
    """What ``cases`` compute on each build, as far as that is known.

    A ``layout`` other than 0 asks fresh servers.
    """
    found: dict[str, dict[CaseKey, Output]] = {name: {} for name in runner.names}
    layouts = range(layout, layout + 1)
    for done in _measure(runner, cases, layouts, counts=False, times=False, output=True):
        if done.outcome.output is not None:
            found[done.order.build.name][done.order.case.key] = done.outcome.output
    return list(found.values())


def _measure(
    runner: BuildRunner, cases: Iterable[Case], layouts: range, **options: bool
) -> Iterator[Finished]:
    """Each case in each layout on each build; a single one is that of the servers, too."""
    orders = [
        runner.settings.order(case, facts.build, layout=layout, **options)
        for case in cases
        for layout in layouts
        for facts in runner.facts
    ]
    return runner.carried_out(orders, layout=layouts[0] if len(layouts) == 1 else 0)


# Judging them


def verify(
    runner: BuildRunner,
    cases: Sequence[Case],
    comparison: Comparison,
    layouts: int | None = None,
    baseline: Baseline | None = None,
) -> Comparison:
    """Count suspects again in other layouts: of two builds, or of one that a baseline is beside.

    ``layouts`` are as in `recount`; 0 verifies nothing, and where the engine has only one, the
    observer learns it. A baseline remembers its own. Of two builds, it is compared first what C++
    suspects compute.

    Raises:
        VerificationInterrupted: an interrupt came while fresh servers counted.
        KeyboardInterrupt: it came earlier.
    """
    others = _of_other_output(comparison)
    if not (comparison.suspects or others) or layouts == 0:
        return comparison
    engine = runner.settings.engine
    if not engine_named(engine).follows_profile:
        runner.observer.note(
            f"Candidates are not verified: the {engine} engine has only one memory layout."
        )
        return comparison
    if baseline is None:
        comparison = _with_verified_outputs(runner, cases, comparison)

    def judge(again: Recounted) -> Comparison:
        if baseline is not None:
            return verified_against(comparison, baseline, again.counts[0])
        base, new = again.counts
        return verified(comparison, base, new, functions=again.functions)

    if not comparison.suspects:
        return comparison
    return _count_again(runner, cases, comparison, layouts, judge)


def _of_other_output(comparison: Comparison) -> list[Difference]:
    return [case for case in comparison.differences if case.reason is Reason.OUTPUT_DIFFERS]


def _with_verified_outputs(
    runner: BuildRunner, cases: Sequence[Case], comparison: Comparison
) -> Comparison:
    """The comparison of two builds after what C++ suspects compute was compared, too.

    Another output counts where fresh servers of each build repeat its own: one that follows
    addresses or the order of a set may be any.
    """
    suspects = _cases_of(cases, comparison.suspects)
    if cpp := [case for case in suspects if case.autolabels.language is Language.CPP]:
        runner.observer.note(f"Comparing what {len(cpp)} C++ cases compute")
        comparison = _judged_again(comparison, *outputs_of(runner, cpp))
    if not (others := _cases_of(cases, _of_other_output(comparison))):
        return comparison
    plural = "" if len(others) == 1 else "s"
    runner.observer.note(f"Verifying the output of {len(others)} case{plural} by fresh servers")
    again = outputs_of(runner, others, layout=1)
    of_chance: list[dict[CaseKey, Output]] = []
    for side, found in zip((comparison.base, comparison.new), again, strict=True):
        outputs = {
            key: attrs.evolve(output, repeatable=False)
            for key, output in found.items()
            if (differs := compare_outputs(side.records[key].outcome.output, output))
            and differs.differs
        }
        of_chance.append(outputs)
        records = with_outputs(side, outputs).records
        runner.amend(side.run_id, [records[key] for key in outputs], "What is repeated is")
    return _judged_again(comparison, *of_chance)


def _judged_again(
    comparison: Comparison, base: Mapping[CaseKey, Output], new: Mapping[CaseKey, Output]
) -> Comparison:
    """The comparison, with what is known by now of what some cases compute."""
    sides = with_outputs(comparison.base, base), with_outputs(comparison.new, new)
    return compare(*sides, comparison.min_effect)


def _count_again(
    runner: BuildRunner,
    cases: Sequence[Case],
    comparison: Comparison,
    layouts: int | None,
    judge: Callable[[Recounted], Comparison],
) -> Comparison:
    """What is judged of the suspects, counted in other layouts on each measured build.

    Children cannot move what lay in a server before it forked, types and names above all: what
    they find changed although the program is the same, fresh servers have to find changed, too.

    A single build is the new side. Measured sides come back with what layouts were seen to move
    their cases by, which is stored with their run, too. Those of a server that is there may move
    less than fresh servers would: they are heard where they move more than is assumed.
    """
    again = recount(runner, _cases_of(cases, comparison.suspects), layouts)
    checked, rounds = judge(again), [again]
    if layouts is None and (unsettled := changed_by_counts(checked)):
        try:
            fresh = recount(runner, _cases_of(cases, unsettled), FRESH_SERVERS)
        except KeyboardInterrupt as stop:
            raise VerificationInterrupted(settled(checked, unsettled, comparison)) from stop
        rounds.append(again.followed_by(fresh))
        checked = settled(checked, unsettled, judge(rounds[-1]))
    sides = {"base": comparison.base, "new": comparison.new}
    roles = [*sides][-len(runner.facts) :]
    for place, role in enumerate(roles):
        noises: dict[CaseKey, Noise] = {}
        for counted in rounds:
            noises |= _layout_noise(sides[role], counted.counts[place], if_unusual=layouts is None)
        sides[role] = side = with_noise(sides[role], noises)
        noisy = [side.records[key] for key in noises]
        runner.amend(side.run_id, noisy, "The noise between memory layouts is")
    return attrs.evolve(checked, base=sides["base"], new=sides["new"])


def _cases_of(cases: Iterable[Case], differences: Iterable[Difference]) -> list[Case]:
    keys = {difference.key for difference in differences}
    return [case for case in cases if case.key in keys]


def _known_side(whole: Side, request: ComparisonRequest) -> Side:
    side = narrowed(whole, request.selection)
    if not request.defined_only:
        return side
    keys = {case.key for case in request.cases()}
    kept = {key: record for key, record in side.records.items() if key in keys}
    if not kept:
        problem = f"{side.title} contains no cases from these definitions"
        raise UsageError(problem, "See:", "runs show")
    return attrs.evolve(side, records=kept)


def _layout_noise(
    side: Side, layouts: Sequence[Mapping[CaseKey, int]], *, if_unusual: bool
) -> dict[CaseKey, Noise]:
    """What layouts moved each case by; ``if_unusual``: only where that is more than is assumed."""
    found = {}
    for key in {key for counts in layouts for key in counts}:
        counted = side.records[key].outcome.instructions
        counts = [by_key[key] for by_key in layouts if key in by_key]
        if counted is not None and len(counts) == len(layouts):
            counts.append(counted.per_run)
            spread = spread_of(counts)
            if not if_unusual or spread > usual_spread(key, counted):
                found[key] = Noise(layout_spread=spread, layouts=len(layouts))
    return found


def spread_of(counts: Sequence[int | None]) -> float:
    """How far apart counts lie, as a share of the largest; 0 where none is known."""
    known = [count for count in counts if count is not None]
    return min(1.0, (max(known) - min(known)) / max(1, *known)) if known else 0.0
