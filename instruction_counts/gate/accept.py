"""Accepting a run as the baseline: what stays, what changes, and why."""

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.difference import Verdict
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.metrics import BYTECODES, OF_CUDA, OPERATOR_CALLS, Amounts
from instruction_counts.domain.records import Record
from instruction_counts.domain.selection import Selection
from instruction_counts.gate.baseline import Baseline, BaselineCase, Head

_NAMED = 3
_OF_THE_PROGRAM = {metric.name for metric in (BYTECODES, OPERATOR_CALLS, *OF_CUDA)}


@attrs.frozen
class Acceptance:
    """A baseline with a run accepted into it."""

    before: Baseline | None
    after: Baseline
    comparison: Comparison
    """Of what the baseline was, in the accepted cases, with the run."""
    kept: tuple[CaseKey, ...]
    """Cases that differ by no more than noise: they keep their counts, so that the file does."""
    absent: tuple[CaseKey, ...]
    """Cases of the file that were selected, and that the run does not have."""
    uncounted: tuple[CaseKey, ...]
    """The same, that the run has without a count: it skipped them, or left them out. They stay."""
    mixed: tuple[str, ...] = ()
    """What the file now says of all its cases, though it holds for the accepted ones alone."""


def accept(
    before: Baseline | None,
    side: Side,
    selection: Selection,
    *,
    prune: bool = False,
    allow_different: bool = False,
) -> Acceptance:
    """``before`` with the cases of ``side``, which are selected; the others stay.

    With ``prune``, the selected cases that ``side`` does not have go. What it has without a count
    is still a case.

    Raises:
        UsageError: cases failed or were not counted, or the others are not of such a build; or
            those that are to go may only not have been measured yet.
    """
    if prune and not side.is_whole:
        problem = f"{side.title}: --prune would drop the cases that it does not have"
        raise UsageError(problem, "Measure them, merge all shards, or leave out --prune.")
    records = _counted(side)
    old = before or Baseline(Head.of(side), {})
    selected = [key for key in old.cases if selection.keeps_key(key)]
    absent = tuple(key for key in selected if key not in side.records)
    uncounted = tuple(key for key in selected if key in side.records and key not in records)
    replaced = {*records, *(absent if prune else ())}
    cases = {key: case for key, case in old.cases.items() if key not in replaced}
    others = len(cases)
    if others:
        _refuse_mixture(old, side, others, allow_different=allow_different)
    # Only what was accepted is compared: what was skipped is no case that is missing.
    mine = attrs.evolve(old, cases={key: old.cases[key] for key in selected})
    accepted = attrs.evolve(side, records=records)
    comparison = mine.compared(accepted, "baseline")
    kept = []
    for difference in comparison.differences:
        key, was = difference.key, old.cases.get(difference.key)
        if key not in records:
            continue
        record = records[key].completed
        # What may be noise alone, taken in, would carry a count along without end.
        is_noise = difference.verdict in {Verdict.SAME, Verdict.AMBIGUOUS} and difference.change
        if was is not None and is_noise:
            kept.append(key)
            cases[key] = _kept(was, record)
        else:
            # What layouts moved once, they may move again.
            is_known = was is not None and was.definition_hash == record.definition_hash
            cases[key] = BaselineCase.of(record, [was.noise] if was and is_known else [])
    is_same = others and cases == old.cases
    after = Baseline(old.head if is_same else Head.of(side), cases)
    other_builds = () if is_same or not others else comparison.disagreements
    mixed = tuple(found.text for found in other_builds if found.base)
    return Acceptance(before, after, comparison, tuple(kept), absent, uncounted, mixed)


def _kept(was: BaselineCase, record: Record) -> BaselineCase:
    """The count that was accepted, with what is executed now, and what is known of its noise."""
    now = BaselineCase.of(record)
    program = now.metrics.items() if now.executed is not None else ()
    mine = {name: amount for name, amount in program if name in _OF_THE_PROGRAM}
    return attrs.evolve(
        was,
        spread=min(was.instructions, max(was.spread, now.spread)),
        layouts=max(was.layouts, now.layouts),
        layout_spread=min(was.instructions, max(was.layout_spread, now.layout_spread)),
        executed=now.executed or was.executed,
        metrics=Amounts({**was.metrics, **mine}),
    )


def _counted(side: Side) -> dict[CaseKey, Record]:
    counted, failed, negative = {}, [], []
    for key, record in side.records.items():
        if record.outcome.status.is_failure:
            failed.append(key.title)
        if (instructions := record.outcome.instructions) is not None:
            counted[key] = record
            negative += [key.title] * (instructions.per_run < 0)
    for titles, what, remedy in (
        (failed, "failed", "Measure them again, or leave them out."),
        (negative, "cost less than the empty loop", "Leave them out."),
    ):
        if titles:
            more = f"; and {len(titles) - _NAMED} more" if len(titles) > _NAMED else ""
            named = "; ".join(titles[:_NAMED])
            raise UsageError(f"{side.title} has cases that {what}: {named}{more}", remedy)
    if not counted:
        raise UsageError(f"{side.title}: no case was counted", "Measure without --no-counts.")
    return counted


def _refuse_mixture(old: Baseline, side: Side, number: int, *, allow_different: bool) -> None:
    found = old.obstacles(side, allow_different=allow_different)
    if found:
        is_final = any(obstacle.prevents for obstacle in found)
        raise UsageError(
            f"{number} baseline cases would be kept, but were recorded with another build: "
            f"{'; '.join(obstacle.text for obstacle in found)}",
            "Accept a run of all cases (--prune drops cases that are not in the run)"
            f"{'' if is_final else ', or add --allow-different'}.",
        )
