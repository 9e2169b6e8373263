"""Causes in short texts, as every report has them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from instruction_counts.analysis.attribution.functions import shown
from instruction_counts.analysis.attribution.names import UNKNOWN, short
from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.analysis.verdicts.shared_causes import CauseGroup, SharedCauses
from instruction_counts.domain.causes import Cause, CauseKind, Unit

NOTHING_SHARED = SharedCauses()

CAUSES = 3
"""So many causes are shown with a case."""

_NAME_WIDTH = 32


def of_case(difference: Difference, shared: SharedCauses = NOTHING_SHARED) -> tuple[str, ...]:
    """The first causes of a case; none where they are not known.

    What it shares with other cases is a reference: ``causes 1, 3 (+87)``, the groups of ``shared``.
    """
    numbers = [
        f"{place + 1}{_own_change(difference, shared.groups[place])}"
        for place in shared.places.get(difference.key, ())
    ]
    plural = "s" if len(numbers) > 1 else ""
    references = (f"cause{plural} {', '.join(numbers)}",) if numbers else ()
    own = [cause for cause in difference.causes[:CAUSES] if not shared.has(difference.key, cause)]
    return references + texts(own)


def _own_change(difference: Difference, group: CauseGroup) -> str:
    """What a cause changed in the case, where the group has one cause and does not say it."""
    first = group.causes[0]
    if len(group.causes) > 1 or first.least == first.most:
        return ""
    identity = first.causes[0].identity
    mine = next(cause for cause in difference.causes if cause.identity == identity)
    unit = mine.kind.unit
    return f" ({round(mine.change):+,}{'' if unit is Unit.INSTRUCTIONS else f' {unit.value}'})"


def texts(causes: Iterable[Cause]) -> tuple[str, ...]:
    """A text for each."""
    return tuple(map(text, causes))


def text(cause: Cause) -> str:
    """``+31 malloc (+1 call)``, ``torch/nn/modules/linear.py:130 Linear.forward  20 → 30 …``."""
    if cause.kind is CauseKind.PYTHON:
        return f"{title(cause)}  {_bytecodes(cause)}"
    remark = _remark(cause)
    return f"{round(cause.change):+,} {title(cause)}{f' ({remark})' if remark else ''}"


def title(cause: Cause) -> str:
    """What changed and where, without by how much."""
    if cause.kind is CauseKind.PYTHON:
        return f"{cause.place} {cause.name}"
    if cause.kind is CauseKind.OPERATOR:
        return f"{cause.name}{' (backward)' if cause.backward else ''}"
    if cause.kind is not CauseKind.NATIVE:
        return cause.name
    return f"unnamed in {cause.where}" if cause.name == UNKNOWN else short(cause.name, _NAME_WIDTH)


def more_calls(amount: Fraction) -> str:
    """A change of calls: ``+1 call``."""
    sign = "+" if amount > 0 else ""
    return f"{sign}{shown(amount)} call{'' if abs(amount) == 1 else 's'}"


def _bytecodes(cause: Cause) -> str:
    base, new = (round(amount or 0) for amount in (cause.base, cause.new))
    return (
        f"edited, {new:,} bytecodes as before" if base == new else f"{base:,} → {new:,} bytecodes"
    )


def _remark(cause: Cause) -> str:
    if cause.nameless_in:
        return f"no names in {cause.nameless_in}"
    moved = cause.inlined or cause.no_longer_inlined
    if moved:
        name = short(moved[0], _NAME_WIDTH)
        what = name if len(moved) == 1 else f"{name} and {len(moved) - 1} more"
        return f"{what} {'inlined' if cause.inlined else 'no longer inlined'}"
    if cause.base is None:
        return "new"
    if cause.new is None:
        return "gone"
    return more_calls(cause.more_calls) if cause.more_calls else ""
