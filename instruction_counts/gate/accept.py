"""Accepting a run as the baseline: what stays, what changes, and why."""

from __future__ import annotations

import math
from collections.abc import Mapping

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.difference import Verdict
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.metrics import BYTECODES, OPERATOR_CALLS, Amounts
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Complete, Record, as_it_is
from instruction_counts.gate.baseline import Baseline, BaselineCase, Head, kept_execution

_NAMED = 3


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


def accept(
    before: Baseline | None,
    side: Side,
    selected: Mapping[CaseKey, BaselineCase],
    *,
    prune: bool = False,
    allow_different: bool = False,
    complete: Complete = as_it_is,
) -> Acceptance:
    """``before`` with the cases of ``side``; the others stay.

    ``selected`` are the cases of ``before`` that may change; with ``prune``, those that ``side``
    does not have go. What it has without a count is still a case.

    Raises:
        UsageError: cases failed or were not counted, or the others are not of such a build.
    """
    records = _counted(side)
    old = before or Baseline(Head.of(side), {})
    mine = attrs.evolve(old, cases=selected)
    absent = tuple(key for key in selected if key not in side.records)
    uncounted = tuple(key for key in selected if key in side.records and key not in records)
    dropped = frozenset(absent if prune else ())
    staying = [key for key in old.cases if key not in records and key not in dropped]
    if staying:
        _refuse_mixture(old, side, len(staying), allow_different=allow_different)
    # Only what was accepted is compared: what was skipped is no case that is missing.
    comparison = mine.compared(attrs.evolve(side, records=records), "baseline", complete)
    cases = {key: old.cases[key] for key in staying}
    kept = []
    for difference in comparison.differences:
        record, was = records.get(difference.key), selected.get(difference.key)
        if record is None:
            continue
        if was is not None and difference.verdict in _NOISE and difference.change:
            cases[difference.key] = _kept(was, complete(record))
            kept.append(difference.key)
        else:
            cases[difference.key] = _case(complete(record), was)
    after = Baseline(Head.of(side), cases)
    return Acceptance(before, after, comparison, tuple(kept), absent, uncounted)


_NOISE = {Verdict.SAME, Verdict.AMBIGUOUS}
"""What may be noise alone. Taken in, it would carry a count along without end."""


def _kept(was: BaselineCase, record: Record) -> BaselineCase:
    """The count that was accepted, with what is executed now, and what is known of its noise."""
    counted = record.outcome.instructions
    assert counted is not None, "asked of counted cases only"
    most, noise = was.instructions, record.noise or Noise()
    spread = max(was.spread, counted.spread, math.ceil(noise.server_spread * most))
    moved = math.ceil(noise.layout_spread * most) if noise.layouts else 0
    executed = kept_execution(record)
    if executed is not None:
        was = attrs.evolve(was, executed=executed, metrics=_metrics(was, record))
    return attrs.evolve(
        was,
        spread=min(spread, most),
        layouts=max(was.layouts, noise.layouts),
        layout_spread=min(max(was.layout_spread, moved), most),
    )


def _metrics(was: BaselineCase, record: Record) -> Amounts:
    names = {BYTECODES.name, OPERATOR_CALLS.name}
    amounts = record.outcome.metrics
    others = {name: amount for name, amount in was.metrics.items() if name not in names}
    return Amounts({**others, **{name: amounts[name] for name in names & amounts.keys()}})


def _case(record: Record, was: BaselineCase | None) -> BaselineCase:
    same_code = was is not None and was.definition_hash == record.definition_hash
    found = [record.noise] if record.noise is not None else []
    if was is not None and same_code:
        found.append(was.noise)  # what layouts moved once, they may move again
    return BaselineCase.of(record, found)


def _counted(side: Side) -> dict[CaseKey, Record]:
    failed = [
        key
        for key, record in side.records.items()
        if record.outcome.status in {Status.FAILED, Status.TIMEOUT}
    ]
    if failed:
        raise UsageError(
            f"{side.title} has failed cases: {_some(failed)}",
            "Measure them again, or exclude them with --only.",
        )
    counted = {
        key: (record, record.outcome.instructions.per_run)
        for key, record in side.records.items()
        if record.outcome.instructions is not None
    }
    negative = [key for key, (_, count) in counted.items() if count < 0]
    if negative:
        raise UsageError(
            f"{side.title} has cases that cost less than the empty loop: {_some(negative)}",
            "Nothing of them was executed: exclude them with --only.",
        )
    records = {key: record for key, (record, _) in counted.items()}
    if not records:
        raise UsageError(f"{side.title}: no case was counted", "Measure without --no-counts.")
    return records


def _refuse_mixture(old: Baseline, side: Side, number: int, *, allow_different: bool) -> None:
    found = old.obstacles(side, allow_different=allow_different)
    if found:
        differences = "; ".join(obstacle.text for obstacle in found)
        raise UsageError(
            f"{number} baseline cases would be kept, but were recorded with another build: "
            f"{differences}",
            "Accept a run of all cases (--prune drops cases that are not in the run)"
            + (
                "."
                if any(obstacle.prevents for obstacle in found)
                else ", or add --allow-different."
            ),
        )


def _some(keys: list[CaseKey]) -> str:
    names = [
        " · ".join([key.path, *(mode.value for mode in key.modes if mode.value)])
        for key in keys[:_NAMED]
    ]
    more = len(keys) - len(names)
    return "; ".join([*names, *([f"and {more} more"] if more else [])])
