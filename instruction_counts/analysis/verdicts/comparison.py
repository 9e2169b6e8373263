"""A whole comparison: two sides, case by case."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import attrs

from core.types import CaseKey
from instruction_counts.analysis.attribution.functions import difference, top_causes
from instruction_counts.analysis.verdicts.difference import (
    Difference,
    Layouts,
    Verdict,
    is_suspect,
    judge,
    judge_verified,
)
from instruction_counts.analysis.verdicts.fingerprints import Disagreement, disagreements
from instruction_counts.analysis.verdicts.outputs import compare_outputs
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.effects import MIN_EFFECT, Effect
from instruction_counts.domain.errors import DataError
from instruction_counts.domain.records import Complete, as_it_is


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

    @property
    def tally(self) -> Counter[Verdict]:
        """How many cases have each verdict."""
        return Counter(one.verdict for one in self.differences)

    @property
    def suspects(self) -> tuple[Difference, ...]:
        """What has to be counted again before it is reported."""
        return tuple(one for one in self.differences if is_suspect(one, self.min_effect))


def function_causes(one: Difference, complete: Complete = as_it_is) -> tuple[str, ...]:
    """The functions that changed most; none where costs by function cannot be read."""
    if not one.change or one.base is None or one.new is None:
        return ()
    try:
        before, after = (complete(record).outcome.functions for record in (one.base, one.new))
        return () if before is None or after is None else top_causes(difference(before, after))
    except DataError:  # a verdict does not depend on its causes
        return ()


def compare(
    base: Side,
    new: Side,
    min_effect: Effect | None = None,
    causes: Callable[[Difference], tuple[str, ...]] = function_causes,
) -> Comparison:
    """Judge every case of either side, in the order of ``new``, then what is only in ``base``.

    ``causes`` says what changed most in a case. It is asked now, as details of stored records can
    be read only while their store is open.

    What a time budget skipped on either side is not judged.
    """
    found = tuple(disagreements(base, new))
    comparable = not any(disagreement.prevents for disagreement in found)
    least = min_effect or MIN_EFFECT
    skipped_by_budget = {
        key: budget
        for side in (new, base)
        for key, record in side.records.items()
        if (budget := record.outcome.skipped_by_budget)
    }
    differences = []
    for key in dict.fromkeys([*new.records, *base.records]):
        if key in skipped_by_budget:
            continue
        before, after = base.records.get(key), new.records.get(key)
        outcomes = [record.outcome if record is not None else None for record in (before, after)]
        outputs = [outcome.output if outcome is not None else None for outcome in outcomes]
        judged = judge(
            key,
            before,
            after,
            comparable=comparable,
            min_effect=least,
            output=compare_outputs(*outputs),
        )
        differences.append(attrs.evolve(judged, causes=causes(judged)))
    return Comparison(
        base, new, found, least, tuple(differences), skipped_by_budget=skipped_by_budget
    )


def verified(
    comparison: Comparison,
    base: Sequence[Mapping[CaseKey, int]],
    new: Sequence[Mapping[CaseKey, int]],
    edges: Mapping[CaseKey, int] | None = None,
) -> Comparison:
    """The comparison after its suspects were counted again, once in each layout of either side.

    ``edges`` are how far base is known to reach without a count that says so.
    A suspect that failed in some layout keeps its verdict, and is not called verified.
    """
    suspects = {suspect.key for suspect in comparison.suspects}
    judged = []
    for one in comparison.differences:
        counts = [[layout.get(one.key) for layout in side] for side in (base, new)]
        before, after = ([count for count in side if count is not None] for side in counts)
        if one.key in suspects and len(before) == len(after) == len(base) > 0:
            layouts = Layouts(tuple(before), tuple(after), (edges or {}).get(one.key))
            judged.append(judge_verified(one, layouts, comparison.min_effect))
        else:
            judged.append(one)
    return attrs.evolve(comparison, differences=tuple(judged), layouts=len(base))
