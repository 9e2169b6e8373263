"""A whole comparison: two sides case by case, or statements beside the first of them."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

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
    Verdict,
    is_suspect,
    judge,
    judge_verified,
)
from instruction_counts.analysis.verdicts.sides import Disagreement, Side, disagreements
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.causes import Cause
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
