"""Where the instructions of a case go: on one side, or from one side to another."""

from __future__ import annotations

import difflib
import shlex
from collections.abc import Sequence

import attrs

from instruction_counts.analysis.attribution.functions import FunctionDifference, difference
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import FunctionCosts, Status
from instruction_counts.domain.records import Complete, as_it_is
from instruction_counts.domain.selection import Selection

_NAMED = 12


@attrs.frozen
class Explained:
    """One case that was counted on each of one or two sides, with the costs of its functions."""

    key: CaseKey
    sides: tuple[Side, ...]
    difference: FunctionDifference
    """From the first side to the second; of a single one, from nothing to all that it spends."""


def explain_sides(
    sides: Sequence[Side], selection: Selection, complete: Complete = as_it_is
) -> Explained:
    """Where the instructions of the one selected case go, on one side or between two.

    The sides that come back hold the details of that case.

    Raises:
        UsageError: no case is selected, or several are; or a side has no count of it.
        DataError: the stored costs of a side contradict themselves.
    """
    key = _only_key(sides, selection)
    sides = [_completed(side, key, complete) for side in sides]
    costs = [_costs(key, side, sides) for side in sides]
    base = costs[0] if len(costs) > 1 else None
    return Explained(key, tuple(sides), difference(base, costs[-1]))


def _completed(side: Side, key: CaseKey, complete: Complete) -> Side:
    record = side.records.get(key)
    if record is None:
        return side
    return attrs.evolve(side, records={**side.records, key: complete(record)})


def _costs(key: CaseKey, side: Side, sides: Sequence[Side]) -> FunctionCosts:
    record = side.records.get(key)
    if record is None:
        other = next(side for side in sides if key in side.records)
        raise UsageError(
            f"{key.title} is in {other.title}, and not in {side.title}",
            "Measure it on both sides:",
            f"run --only {shlex.quote(key.path)}",
        )
    outcome = record.outcome
    if outcome.status is not Status.OK:
        why = f": {outcome.failure.summary}" if outcome.failure is not None else ""
        raise UsageError(
            f"{key.title} has no count in {side.title}: {outcome.status.value}{why}",
            "Choose another case, or measure it again.",
        )
    if outcome.instructions is None or outcome.functions is None:
        raise UsageError(
            f"{key.title} was not counted in {side.title}",
            "Measure it again, without --no-counts.",
        )
    return outcome.functions


def _only_key(sides: Sequence[Side], selection: Selection) -> CaseKey:
    known = list(dict.fromkeys(key for side in sides for key in side.records))
    labelled = [key for key in known if Selection(selection.only).keeps_key(key)]
    (label,) = selection.only
    if not labelled:
        titles = " or ".join(side.title for side in sides)
        raise UsageError(
            f"no case of {titles} matches '{label}'.{_near(label, known)}",
            "LABEL is a glob over the label path, as for --only.",
        )
    kept = [key for key in labelled if selection.keeps_key(key)]
    if len(kept) == 1:
        return kept[0]
    found = [f"  {key.title}" for key in kept or labelled]
    listed = "\n".join([*found[:_NAMED], *(["  …"] if len(found) > _NAMED else [])])
    remedy = "Narrow it: a longer LABEL, --language, --runtime, --autograd or --num-threads."
    if not kept:
        raise UsageError(f"'{label}' has no case of these modes; it has\n{listed}", remedy)
    raise UsageError(f"{len(kept)} cases match '{label}':\n{listed}", remedy)


def _near(label: str, known: Sequence[CaseKey]) -> str:
    paths = {key.path.lower(): key.path for key in known}
    names = {key.label[-1].lower(): key.path for key in known}
    asked = label.lower().strip("/")
    places: list[tuple[str, dict[str, str]]] = [(asked, paths), (asked.rpartition("/")[2], names)]
    near = [
        texts[found]
        for text, texts in places
        for found in difflib.get_close_matches(text, texts, n=2, cutoff=0.7)
    ]
    return f" Near: {', '.join(dict.fromkeys(near))}." if near else ""
