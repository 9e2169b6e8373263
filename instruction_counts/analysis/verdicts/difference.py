"""The verdict on a case, with its reason.

Counts are integers of a deterministic machine, so nothing here is a test of significance on counts.
What stands between a difference and a verdict is what else moves counts: windows that do not agree,
and memory layout. Both are measured, case by case.
"""

import enum
import statistics
from collections.abc import Iterable, Sequence

import attrs

from instruction_counts.analysis.verdicts.beside import (
    CyclesChange,
    OutputDifference,
    TimeChange,
    compare_outputs,
    cycles_change,
    time_change,
)
from instruction_counts.core.types import CaseKey, Language, RuntimeMode
from instruction_counts.domain.causes import Cause
from instruction_counts.domain.effects import MIN_EFFECT, Effect, Noise, Origin
from instruction_counts.domain.metrics import (
    BYTECODES,
    OF_CUDA,
    OPERATOR_CALLS,
    Amount,
    Metric,
    metrics,
)
from instruction_counts.domain.outcomes import Instructions, Status
from instruction_counts.domain.records import Record

_USUAL_SPREAD = {Language.PYTHON: 0.001, Language.CPP: 0.0001}
"""Nine of ten Python cases lie within, and every C++ case of the representative ones (``selftest
--layouts 4``, see ``docs/explanation/measurement.md``)."""
_USUAL_SPREAD_COMPILED = 0.004
_USUAL_SPREAD_OF_FIRST_RUNS = 0.014
"""The most that was seen of both (``docs/reference/definitions.md``)."""


def usual_spread(key: CaseKey, *counts: Instructions) -> float:
    """How far another memory layout moves most cases like one, as a share of its count."""
    if any(counted.is_of_first_runs for counted in counts):
        return _USUAL_SPREAD_OF_FIRST_RUNS
    if key.runtime is RuntimeMode.COMPILED:
        return _USUAL_SPREAD_COMPILED
    return _USUAL_SPREAD[key.language]


class Verdict(enum.Enum):
    """What is said of a case."""

    SAME = "same"
    BETTER = "better"
    WORSE = "worse"
    AMBIGUOUS = "ambiguous"
    INCOMPARABLE = "incomparable"
    ADDED = "added"
    """Only in new."""
    MISSING = "missing"
    """Only in base."""
    FAILED = "failed"


ON_COUNTS = frozenset({Verdict.SAME, Verdict.BETTER, Verdict.WORSE, Verdict.AMBIGUOUS})
"""What is said by two counts that were compared."""


class Reason(enum.Enum):
    """Why."""

    IDENTICAL = "identical count"
    BELOW_MIN_EFFECT = "below the minimum effect"
    WITHIN_NOISE = "within noise of the windows"
    EXACT_DIFFERENCE = "exact difference"
    BEYOND_NOISE = "beyond noise"
    FAR_BEYOND_LAYOUTS = "far more than layouts move"
    BEYOND_LAYOUTS = "beyond what layouts move"
    PYTHON_DIFFERS = "Python code differs"
    OPERATORS_DIFFER = "operators differ"
    CUDA_DIFFERS = "CUDA calls differ"
    STEADY_PART = "beyond what layouts move in its functions"
    LAYOUT_FUNCTIONS = "only what layouts move"
    LAYOUT_ONLY = "within noise"
    NOT_VERIFIED = "may be noise, not verified"
    OUTPUT_DIFFERS = "output differs"
    DEFINITION_CHANGED = "definition changed"
    FINGERPRINT_DIFFERS = "fingerprint differs"
    SKIPPED = "skipped"
    NOT_COUNTED = "not counted"
    ONLY_IN_NEW = "only in new"
    ONLY_IN_BASE = "only in base"
    FAILED_IN_BASE = "failed in base"
    FAILED_IN_NEW = "failed in new"
    FAILED_IN_BOTH = "failed in both"


class Program(enum.Enum):
    """What is known of what two sides executed."""

    UNKNOWN = "unknown"
    """It is not known of a side, or the sides have different versions of Python, or other Python
    code that executes as many bytecodes, or the same code executes more of itself."""
    SAME = "same"
    """Each Python function with the same code, as often; each operator as often."""
    PYTHON_DIFFERS = "Python code differs"
    OPERATORS_DIFFER = "operators differ"
    CUDA_DIFFERS = "CUDA calls differ"


OTHER_PROGRAMS = {
    Program.PYTHON_DIFFERS: (BYTECODES,),
    Program.OPERATORS_DIFFER: (OPERATOR_CALLS,),
    Program.CUDA_DIFFERS: OF_CUDA,
}
"""What is a change whatever layouts do, with the metrics that tell together which way it goes."""

FAR_BEYOND = 0.1
"""A change of more than this share of base is none of memory's, where the caches of the interpreter
are held: whole servers in four layouts moved none of 403 cases by more than 1.1% (Python 3.11.2 and
3.13.5), but for one whose call stack torch unwinds, and that is as deep in both builds."""


@attrs.frozen
class Layouts:
    """Counts of a case in fresh servers of several memory layouts, the same ones on both sides."""

    base: tuple[int, ...]
    new: tuple[int, ...]
    edge: int | None = None
    """How far base is known to reach, where that is no count of these: it makes no change."""
    steady_change: int | None = None
    """Instructions by which new costs more in functions that changed by more than layouts move each
    of them; None where the costs of functions are not known in each layout."""


@attrs.frozen
class MetricChange:
    """A metric that both sides know, with another number on each."""

    metric: Metric
    base: Amount
    new: Amount

    @property
    def verdict(self) -> str:
        """``better``, ``worse``, or ``changed`` where neither can be said."""
        return self.metric.change(self.base, self.new)


@attrs.frozen
class Difference:
    """A case on both sides, and what is said of it."""

    key: CaseKey
    base: Record | None
    new: Record | None
    verdict: Verdict
    reason: Reason
    noise: int = 0
    """The noise floor that was used, in instructions."""
    noise_origin: Origin | None = None
    """Where it comes from; None where counts did not decide."""
    layouts: Layouts | None = None
    """What it was verified with; None where it was not."""
    output: OutputDifference | None = None
    causes: tuple[Cause, ...] = ()
    """What changed most: Python functions and operators, then the largest changes of native
    functions; empty where that is not known."""

    @property
    def program(self) -> Program:
        """What is known of what both sides executed."""
        base, new = (
            None if side is None else side.outcome.executed_digests
            for side in (self.base, self.new)
        )
        if base is None or new is None or _takes_another_way(self.base, self.new):
            return Program.UNKNOWN
        same_python = base.python == new.python
        if same_python and base.bytecodes != new.bytecodes:
            return Program.PYTHON_DIFFERS
        if base.operators != new.operators:
            return Program.OPERATORS_DIFFER
        if base.cuda and new.cuda and base.cuda != new.cuda:
            return Program.CUDA_DIFFERS
        return Program.SAME if same_python and base.code == new.code else Program.UNKNOWN

    @property
    def time(self) -> TimeChange | None:
        """The change of the wall times; None where a side has none."""
        return time_change(self.base, self.new)

    @property
    def cycles(self) -> CyclesChange | None:
        """The change of the estimated cycles; None where a side has none."""
        return cycles_change(self.base, self.new)

    @property
    def metrics(self) -> tuple[MetricChange, ...]:
        """The exact judged metrics that differ, of the same code, in the order of registration.

        They leave the verdict, which is about instructions, as it is.
        """
        base, new = self.base, self.new
        if base is None or new is None or base.definition_hash != new.definition_hash:
            return ()
        found = []
        for metric in (metric for metric in metrics() if metric.judged and metric.exact):
            before, after = (record.outcome.metrics.get(metric.name) for record in (base, new))
            if before is not None and after is not None and before != after:
                found.append(MetricChange(metric, before, after))
        return tuple(found)

    @property
    def verified(self) -> bool:
        """Whether layouts cannot be the cause.

        Several were counted, other code is executed, or the change is far larger than theirs.
        """
        return self.layouts is not None or self.is_certain

    @property
    def is_certain(self) -> bool:
        """Whether no count in another layout could say anything else."""
        return self.goes_with_its_program or self.reason is Reason.FAR_BEYOND_LAYOUTS

    @property
    def goes_with_its_program(self) -> bool:
        """Whether other code is executed, and instructions change as it does, by more than noise.

        If they do not, they may be memory's.
        """
        is_clear = self.layouts is not None or abs(self.change or 0) > self.noise
        if not is_clear or self.verdict not in {Verdict.BETTER, Verdict.WORSE}:
            return False
        return self.program in OTHER_PROGRAMS and _more_executed(self) * (self.effect or 0) > 0

    @property
    def base_count(self) -> int | None:
        """Instructions per iteration in base; where layouts were counted, too, the median."""
        return _count(self.base, () if self.layouts is None else self.layouts.base)

    @property
    def new_count(self) -> int | None:
        """The same in new."""
        return _count(self.new, () if self.layouts is None else self.layouts.new)

    @property
    def change(self) -> int | None:
        """Instructions per iteration that new costs more."""
        base, new = self.base_count, self.new_count
        return None if base is None or new is None else new - base

    @property
    def effect(self) -> int | None:
        """The change that the verdict is about: where layouts move the whole count, a part."""
        if self.layouts is not None and self.reason is Reason.STEADY_PART:
            return self.layouts.steady_change
        return self.change

    @property
    def is_change(self) -> bool:
        """Whether the case got better or worse, or computes something else."""
        return self.verdict is Verdict.BETTER or self.is_regression

    @property
    def is_regression(self) -> bool:
        """Whether the case got worse, or computes something else."""
        return self.verdict is Verdict.WORSE or self.reason is Reason.OUTPUT_DIFFERS

    @property
    def relative(self) -> float | None:
        """The change, relative to base."""
        change, base = self.change, self.base_count
        return None if change is None or not base else change / base


def judge(
    key: CaseKey,
    base: Record | None,
    new: Record | None,
    *,
    comparable: bool = True,
    held: bool = False,
    min_effect: Effect = MIN_EFFECT,
) -> Difference:
    """The verdict on two records, before anything is measured again.

    ``comparable`` is False where the fingerprints forbid to compare counts. ``held`` says that both
    sides counted with all that is known to depend on memory held still.
    """
    sides = None if base is None or new is None else (base.outcome.output, new.outcome.output)
    output = sides and compare_outputs(*sides)
    said = _without_counts(base, new, output, comparable=comparable)
    if said is not None:
        return Difference(key, base, new, *said, output=output)
    before, after = _instructions(base), _instructions(new)
    noises = [record.noise for record in (base, new) if record and record.noise]
    floor = noise_floor(before, after, key, noises)
    held = held and not _takes_another_way(base, new)
    said = _on_counts(before, after, floor[0], min_effect, held=held)
    return _by_program(Difference(key, base, new, *said, *floor, output=output), min_effect)


def _takes_another_way(base: Record | None, new: Record | None) -> bool:
    """Whether the same statement runs the same code, only more or less of it.

    That may be memory's, which orders sets of objects: a loop ends where it finds what it looks
    for, and a worklist takes detours.
    """
    # Two statements may be beside each other; a baseline does not have its own.
    if base is None or new is None or base.stmt not in {"", new.stmt}:
        return False
    before, after = base.outcome.executed_digests, new.outcome.executed_digests
    if before is None or after is None or not before.code or before.python != after.python:
        return False
    return before.code == after.code and before.bytecodes != after.bytecodes


def is_suspect(difference: Difference, min_effect: Effect) -> bool:
    """Whether counting again can change the verdict: the counts differ by enough to be of interest.

    What looks like noise is a suspect, too: in several layouts a real change stands out. So is what
    memory does not move by as much, since chance may: what each process draws anew.
    """
    if difference.verdict not in ON_COUNTS or difference.goes_with_its_program:
        return False
    before, after = _instructions(difference.base), _instructions(difference.new)
    change = after.per_run - before.per_run
    return change != 0 and min_effect.is_reached(change, before.per_run)


def judge_verified(
    difference: Difference, layouts: Layouts, min_effect: Effect = MIN_EFFECT
) -> Difference:
    """The verdict on a suspect that was counted again in several layouts.

    It is a change only if every count of one side lies above every count of the other, by more than
    either side moves on its own; or if that is so in single functions.
    """
    sides = _instructions(difference.base), _instructions(difference.new)
    before, after = (side.per_run for side in sides)
    edge = () if layouts.edge is None else (layouts.edge,)
    base, new = (before, *layouts.base, *edge), (after, *layouts.new)
    noise = max(max(side) - min(side) for side in (base, new))
    gap = max(min(new) - max(base), min(base) - max(new))
    checked = attrs.evolve(difference, layouts=layouts, noise=noise, noise_origin=Origin.LAYOUTS)
    change, steady = checked.change or 0, layouts.steady_change
    if not min_effect.is_reached(change, before):
        said = Verdict.SAME, Reason.BELOW_MIN_EFFECT
    elif _windows_differ_by_as_much(*sides, min_effect):
        said = Verdict.SAME, Reason.WITHIN_NOISE
        spread = max(side.spread for side in sides)
        checked = attrs.evolve(checked, noise=spread, noise_origin=Origin.WINDOWS)
    elif gap > noise:
        is_exact = not noise and all(side.exact for side in sides)
        reason = Reason.EXACT_DIFFERENCE if is_exact else Reason.BEYOND_LAYOUTS
        if difference.reason is Reason.FAR_BEYOND_LAYOUTS and gap > FAR_BEYOND * before:
            reason = difference.reason
        said = _direction(change), reason
    # Layouts move the whole count by as much as it changed, or by more.
    elif steady and min_effect.is_reached(steady, before):
        said = _direction(steady), Reason.STEADY_PART
        if noise > FAR_BEYOND * before:  # none of memory's: chance, which may move any function
            said = Verdict.AMBIGUOUS, Reason.LAYOUT_ONLY
    # What both sides execute is the same, and each function costs what it may cost on either side.
    elif steady is not None and gap <= 0 and checked.program is Program.SAME:
        said = Verdict.SAME, Reason.LAYOUT_FUNCTIONS
    else:
        said = Verdict.AMBIGUOUS, Reason.LAYOUT_ONLY
    return _by_program(attrs.evolve(checked, verdict=said[0], reason=said[1]), min_effect)


def _windows_differ_by_as_much(base: Instructions, new: Instructions, least: Effect) -> bool:
    """Whether windows of one side give the count of the other.

    What a case does in every so many iterations is in some windows, in each layout in the same.
    """
    if not base.exact or not new.exact:
        for one, other in ((base, new), (new, base)):
            if not one.estimates and abs(new.per_run - base.per_run) <= one.spread:
                return True
            for estimate in one.estimates:
                if not least.is_reached(estimate - other.per_run, other.per_run):
                    return True
    return False


def _direction(change: int) -> Verdict:
    return Verdict.WORSE if change > 0 else Verdict.BETTER


def noise_floor(
    base: Instructions, new: Instructions, key: CaseKey, noises: Iterable[Noise]
) -> tuple[int, Origin]:
    """Instructions by which a case may differ without any change of code, and how that is known.

    The largest of: what windows disagree by, what fresh servers were seen to disagree by, and what
    layouts were seen to move (where they were not seen, what they usually move).
    """
    known, larger = list(noises), max(base.per_run, new.per_run)
    layouts = [noise.layout_spread for noise in known if noise.layouts]
    by_layout = max(layouts, default=usual_spread(key, base, new))
    by_server = max((noise.server_spread for noise in known), default=0.0)
    floors = (
        (round(by_layout * larger), Origin.LAYOUTS if layouts else Origin.ASSUMED),
        (round(by_server * larger), Origin.SERVERS),
        (max(base.spread, new.spread), Origin.WINDOWS),
    )
    return max(floors, key=lambda floor: floor[0])


def _without_counts(
    base: Record | None, new: Record | None, output: OutputDifference | None, *, comparable: bool
) -> tuple[Verdict, Reason] | None:
    """The verdict where counts do not decide; None where they do."""
    if base is None:
        if new is not None and new.outcome.status.is_failure:
            return Verdict.FAILED, Reason.FAILED_IN_NEW
        return Verdict.ADDED, Reason.ONLY_IN_NEW
    if new is None:
        return Verdict.MISSING, Reason.ONLY_IN_BASE
    outcomes = base.outcome, new.outcome
    failed = [outcome.status.is_failure for outcome in outcomes]
    if any(failed):
        one = Reason.FAILED_IN_BASE if failed[0] else Reason.FAILED_IN_NEW
        return Verdict.FAILED, Reason.FAILED_IN_BOTH if all(failed) else one
    obstacles = {
        Reason.SKIPPED: any(outcome.status is Status.SKIPPED for outcome in outcomes),
        Reason.DEFINITION_CHANGED: base.definition_hash != new.definition_hash,
        Reason.OUTPUT_DIFFERS: output is not None and output.differs,
        Reason.NOT_COUNTED: any(outcome.instructions is None for outcome in outcomes),
        Reason.FINGERPRINT_DIFFERS: not comparable,
    }
    found = next((reason for reason, is_there in obstacles.items() if is_there), None)
    return None if found is None else (Verdict.INCOMPARABLE, found)


def _on_counts(
    base: Instructions, new: Instructions, noise: int, min_effect: Effect, *, held: bool
) -> tuple[Verdict, Reason]:
    change = new.per_run - base.per_run
    if not change:
        return Verdict.SAME, Reason.IDENTICAL
    if not min_effect.is_reached(change, base.per_run):
        return Verdict.SAME, Reason.BELOW_MIN_EFFECT
    if abs(change) <= max(base.spread, new.spread):
        return Verdict.SAME, Reason.WITHIN_NOISE
    if abs(change) <= noise:
        return Verdict.AMBIGUOUS, Reason.NOT_VERIFIED
    if not (base.exact and new.exact):
        return _direction(change), Reason.BEYOND_NOISE
    is_known = held and not new.is_of_first_runs  # how far memory moves those is not
    is_far = is_known and abs(change) > FAR_BEYOND * base.per_run
    return _direction(change), Reason.FAR_BEYOND_LAYOUTS if is_far else Reason.EXACT_DIFFERENCE


def _by_program(judged: Difference, min_effect: Effect) -> Difference:
    """The verdict where the sides execute other Python code, operators or launches: a real change.

    Where counts do not say which way it goes, the bytecodes, or the calls of operators or of CUDA,
    do: if they change by as large a share as is of interest, and instructions change as they do.
    Otherwise it is ambiguous, and so it is where what functions cost in several layouts is known,
    and too small: one bytecode more may be in a case of which layouts move thousands.
    """
    too_small = judged.verdict is Verdict.SAME and judged.reason is not Reason.WITHIN_NOISE
    if judged.program not in OTHER_PROGRAMS or too_small:
        return judged
    verdict, reason = judged.verdict, Reason(judged.program.value)
    change, more = judged.effect or 0, _more_executed(judged)
    if verdict not in {Verdict.BETTER, Verdict.WORSE}:
        is_known = judged.layouts is not None and judged.layouts.steady_change is not None
        agrees = more * change > 0 and abs(more) >= min_effect.relative and not is_known
        verdict = _direction(change) if agrees else Verdict.AMBIGUOUS
    elif judged.reason is Reason.FAR_BEYOND_LAYOUTS and more * change <= 0:
        reason = judged.reason  # what is certain about it
    return attrs.evolve(judged, verdict=verdict, reason=reason)


def _more_executed(judged: Difference) -> float:
    """How much more of what differs in the program is executed in new, as a share of base."""
    names = [each.name for each in OTHER_PROGRAMS[judged.program]]
    sides = (record for record in (judged.base, judged.new) if record is not None)
    before, after = (sum(record.outcome.metrics.get(name, 0) for name in names) for record in sides)
    return (after - before) / (before or 1)


def _count(record: Record | None, layouts: Sequence[int]) -> int | None:
    counted = record.outcome.instructions if record is not None else None
    return None if counted is None else round(statistics.median([counted.per_run, *layouts]))


def _instructions(record: Record | None) -> Instructions:
    assert record is not None, "asked of cases on both sides only"
    assert record.outcome.instructions is not None, "asked of counted cases only"
    return record.outcome.instructions
