"""A whole comparison: two sides case by case with the causes they share, or statements in a row."""

import functools
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction

import attrs

from instruction_counts.analysis.attribution.causes import causes_of_case, executed_changes
from instruction_counts.analysis.attribution.functions import (
    FunctionChange,
    difference,
    steady_change,
)
from instruction_counts.analysis.verdicts.difference import (
    OTHER_PROGRAMS,
    Difference,
    Layouts,
    Reason,
    Verdict,
    is_suspect,
    judge,
    judge_verified,
)
from instruction_counts.analysis.verdicts.sides import Disagreement, Side, disagreements
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.causes import Cause, CauseIdentity, CauseKind
from instruction_counts.domain.effects import MIN_EFFECT, Effect
from instruction_counts.domain.errors import DataError
from instruction_counts.domain.outcomes import FunctionCosts
from instruction_counts.domain.records import Record


@attrs.frozen
class Comparison:
    """Two sides, what they do not have in common, and a verdict on every case of either."""

    base: Side
    new: Side
    disagreements: tuple[Disagreement, ...]
    min_effect: Effect
    differences: tuple[Difference, ...]
    layouts: int = 0
    """In how many layouts suspects were counted again; 0 where nothing was verified."""
    skipped_by_budget: Mapping[CaseKey, str] = attrs.field(factory=dict)
    """Cases that did not start within a time budget, with the budget; they have no verdict."""
    is_sound: bool = True
    """Whether all that was measured for it is stored, where it was to be, of builds that stayed."""

    @property
    def tally(self) -> Counter[Verdict]:
        """How many cases have each verdict."""
        return Counter(difference.verdict for difference in self.differences)

    @property
    def suspects(self) -> tuple[Difference, ...]:
        """What has to be counted again before it is reported."""
        return tuple(case for case in self.differences if is_suspect(case, self.min_effect))


def causes_of(compared: Difference) -> tuple[Cause, ...]:
    """What changed; nothing where the details of a record cannot be read."""
    is_changed = compared.change or compared.program in OTHER_PROGRAMS
    if not is_changed or compared.base is None or compared.new is None:
        return ()
    try:
        before, after = (record.completed.outcome for record in (compared.base, compared.new))
        executed = executed_changes(before.executed, after.executed)
        if before.functions is None or after.functions is None or not compared.change:
            return executed
        return causes_of_case(
            executed, difference(before.functions, after.functions, with_calls=False)
        )
    except DataError:  # a verdict does not depend on its causes
        return ()


def compare(
    base: Side,
    new: Side,
    min_effect: Effect = MIN_EFFECT,
    causes: Callable[[Difference], tuple[Cause, ...]] = causes_of,
) -> Comparison:
    """Judge every case of either side, in the order of ``new``, then what is only in ``base``.

    ``causes`` says what changed most in a case. It is asked now, as details of stored records can
    be read only while their store is open.

    What a time budget skipped on either side is not judged.
    """
    found = tuple(disagreements(base, new))
    comparable = not any(disagreement.prevents for disagreement in found)
    held = base.is_held and new.is_held
    sides = [(key, record) for side in (new, base) for key, record in side.records.items()]
    skipped = {key: budget for key, record in sides if (budget := record.outcome.skipped_by_budget)}
    differences = []
    for key in dict(sides):
        if key not in skipped:
            before, after = base.records.get(key), new.records.get(key)
            judged = judge(
                *(key, before, after), comparable=comparable, held=held, min_effect=min_effect
            )
            differences.append(attrs.evolve(judged, causes=causes(judged)))
    return Comparison(base, new, found, min_effect, tuple(differences), skipped_by_budget=skipped)


def verified(
    comparison: Comparison,
    base: Sequence[Mapping[CaseKey, int]],
    new: Sequence[Mapping[CaseKey, int]],
    edges: Mapping[CaseKey, int] | None = None,
    functions: Sequence[Sequence[Mapping[CaseKey, FunctionCosts]]] = (),
) -> Comparison:
    """The comparison after its suspects were counted again, once in each layout of either side.

    ``edges`` are how far base is known to reach without a count that says so. ``functions`` has
    what the functions of a case cost in each layout of both sides.

    A suspect that failed in some layout keeps its verdict, and is not called verified.
    """
    suspects = {suspect.key for suspect in comparison.suspects}
    judged = []
    for compared in comparison.differences:
        key = compared.key
        before, after = (
            tuple(layout[key] for layout in side if key in layout) for side in (base, new)
        )
        if key in suspects and len(before) == len(after) == len(base) > 0:
            is_known = functions and all(key in layout for side in functions for layout in side)
            costs = ([layout[key] for layout in side] for side in functions)
            steady = steady_change(*costs) if is_known else None
            layouts = Layouts(before, after, (edges or {}).get(key), steady)
            judged.append(judge_verified(compared, layouts, comparison.min_effect))
        else:
            judged.append(compared)
    return attrs.evolve(comparison, differences=tuple(judged), layouts=len(base))


def changed_by_counts(comparison: Comparison) -> tuple[Difference, ...]:
    """What several layouts call a change, and what is executed does not."""
    counted = (case for case in comparison.differences if case.layouts is not None)
    changed = (case for case in counted if case.verdict in {Verdict.BETTER, Verdict.WORSE})
    return tuple(case for case in changed if not case.is_certain)


def settled(
    comparison: Comparison, unsettled: Iterable[Difference], by_more: Comparison
) -> Comparison:
    """The comparison with the verdicts ``by_more`` layouts on what was not settled by it."""
    keys = {difference.key for difference in unsettled}
    differences = tuple(
        after if after.key in keys else before
        for before, after in zip(comparison.differences, by_more.differences, strict=True)
    )
    return attrs.evolve(by_more, differences=differences)


# ----------------------------------------- the few causes that explain most of a comparison

_MOST = 5
"""So many causes are leading."""
_FEW = 3
"""So many changed cases need no causes in common."""

_TOGETHER = Fraction(4, 5)
_CHANGED = frozenset({Verdict.WORSE, Verdict.BETTER, Verdict.AMBIGUOUS})


@attrs.frozen
class SharedCause:
    """A cause, as it is in each of its cases, and how much of them it explains."""

    causes: Mapping[CaseKey, Cause]
    """The case with the largest change comes first."""
    explained: Fraction
    """Instructions; negative where it goes against the changes of its cases."""

    @property
    def first(self) -> Cause:
        """The cause in the case that changed most."""
        return next(iter(self.causes.values()))

    @property
    def span(self) -> tuple[Fraction, Fraction]:
        """The least and the largest change, in the unit of its kind."""
        changes = [cause.change for cause in self.causes.values()]
        return min(changes), max(changes)


@attrs.frozen
class LeadingCause:
    """Causes that nearly the same cases share, told as one."""

    members: tuple[SharedCause, ...]
    """Python functions, then operators, then native functions."""
    share: float | None
    """Of all changes of the comparison; negative where it goes against them, None where that is not
    known."""

    @functools.cached_property
    def keys(self) -> frozenset[CaseKey]:
        """The cases of any of them."""
        return frozenset(key for member in self.members for key in member.causes)

    def has(self, key: CaseKey, cause: Cause) -> bool:
        """Whether it is one of its causes in that case."""
        mine = (member for member in self.members if key in member.causes)
        return any(member.first.identity == cause.identity for member in mine)


@attrs.frozen
class SharedCauses:
    """What the changed cases of a comparison have in common."""

    leading: tuple[LeadingCause, ...] = ()
    others: int = 0
    """How many further causes several cases share."""
    every: tuple[SharedCause, ...] = ()
    """All of them, the leading ones included."""


def shared_causes(differences: Iterable[Difference]) -> SharedCauses:
    """The causes that what was compared has in common, by a rule.

    - Cases take part that are reported as changed: better, worse, ambiguous, with another output,
      or with another amount of a judged metric.
    - A cause is the same in two cases if its kind, its normalised name and its file or library are,
      and if it goes the same way; a Python function may go either way, as its new code does.
    - A cause explains of a case the instructions that it costs more or less itself: a native
      function those of its own code, a Python function its part of the interpreter's. Instructions
      that it moves against the change of the case count against it.
    - What at least two cases share is chosen by how much it explains, the most first, unless so few
      cases changed that each can say it itself. Causes of nearly the same cases (four of five on
      either side) that go the same way stand together, and the largest share is told first.
    - The share of a cause is what it explains of all changes, whichever way they go, added up. No
      instruction is counted twice. Of operators, and without the costs of native functions, it is
      not known.
    """
    changed = sorted(filter(is_changed, differences), key=lambda case: -abs(case.change or 0))
    # What is the same but for a metric explains no instructions, and has none to explain.
    changes = {
        case.key: 0 if case.verdict is Verdict.SAME else case.change or 0 for case in changed
    }
    whole = sum(map(abs, changes.values()))
    found: dict[CauseIdentity, dict[CaseKey, Cause]] = defaultdict(dict)
    for case in changed:
        for cause in case.causes:
            found[cause.identity].setdefault(case.key, cause)
    every = []
    for causes in (causes for causes in found.values() if len(causes) > 1):
        signs = {key: (changes[key] > 0) - (changes[key] < 0) for key in causes}
        parts = (cause.instructions * signs[key] for key, cause in causes.items())
        every.append(SharedCause(causes, sum(parts, Fraction())))
    every.sort(key=lambda cause: (-abs(cause.explained), -len(cause.causes), cause.first.name))
    left = list(every)
    leading: list[LeadingCause] = []
    while left and len(leading) < _MOST and len(changed) > _FEW:
        members = [cause for cause in left if _go_together(left[0], cause)]
        left = [cause for cause in left if not _go_together(left[0], cause)]
        explained = sum((member.explained for member in members), Fraction())
        members.sort(key=lambda cause: _KINDS.index(cause.first.kind))
        share = float(explained / whole) if explained and whole else None
        leading.append(LeadingCause(tuple(members), share))
    leading.sort(key=lambda cause: -abs(cause.share or 0))
    return SharedCauses(tuple(leading), len(left), tuple(every))


_KINDS = tuple(CauseKind)


def _go_together(first: SharedCause, other: SharedCause) -> bool:
    both = len(first.causes.keys() & other.causes.keys())
    is_alike = both >= _TOGETHER * max(len(first.causes), len(other.causes))
    return is_alike and first.explained * other.explained >= 0


def is_changed(difference: Difference) -> bool:
    """Whether a case is reported as changed."""
    is_other = difference.reason is Reason.OUTPUT_DIFFERS or bool(difference.metrics)
    return difference.change is not None and (difference.verdict in _CHANGED or is_other)


# ------------------------------------------------------------------- statements, side by side


@attrs.frozen
class MeasuredStatement:
    """A statement that was measured."""

    record: Record
    places: tuple[FunctionChange, ...] = ()
    """The functions that spend most of its instructions, from nothing to that; at most three."""
    difference: Difference | None = None
    """From the first statement to this one; None for the first itself."""


def beside(records: Sequence[Record]) -> tuple[MeasuredStatement, ...]:
    """The statements of ``records``, which hold their details, in their order."""
    statements = []
    for number, record in enumerate(records):
        changes = difference(None, record.outcome.functions, with_calls=False).functions
        places = [change for change in changes if round(change.delta)][:3]
        judged = None
        if number:  # as between two builds; that they are other code and of other modes is meant
            key = attrs.asdict(record.key, recurse=False)
            base = attrs.evolve(records[0], **key, definition_hash=record.definition_hash)
            judged = judge(record.key, base, record)
            judged = attrs.evolve(judged, causes=causes_of(judged))
        statements.append(MeasuredStatement(record, tuple(places), judged))
    return tuple(statements)
