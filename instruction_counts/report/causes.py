"""Causes in short texts: those of a case, and the few that explain most of a comparison."""

import string
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import Any

from instruction_counts.analysis.attribution.functions import shown
from instruction_counts.analysis.attribution.names import UNKNOWN, short, unqualified
from instruction_counts.analysis.verdicts.comparison import LeadingCause, SharedCause, SharedCauses
from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.causes import Unit as CountedIn
from instruction_counts.domain.executed import CudaKind
from instruction_counts.report.document import Cell, Column, Line, Role, Row, Table, Unit
from instruction_counts.report.format import plural

CAUSES = 3
"""So many causes are shown with a case."""

_COLUMNS = (
    Column("letter", ""),
    Column("share", "share", Unit.SHARE),
    Column("cases", "cases", Unit.COUNT),
    Column("cause", "what explains that share of all changes"),
)
_NAME_WIDTH = 32
_KERNEL_WIDTH = 60
_NAMED = 2
"""So many causes of the same cases are named."""


def of_case(difference: Difference, shared: SharedCauses | None = None) -> tuple[str, ...]:
    """The first causes of a case, in their order; none where they are not known.

    What leads the comparison is called by its letter and name: of causes that stand together, by
    the first that does not go against the case. It comes last where it is none of the largest of
    the case.
    """
    key, references = difference.key, dict[str, LeadingCause]()
    for letter, leading in _lettered(shared) if shared else ():
        if key in leading.keys:
            members = [member for member in leading.members if key in member.causes]
            way = -1 if (difference.change or 0) < 0 else 1
            with_it = (one for one in members if one.causes[key].instructions * way >= 0)
            name = title(next(with_it, members[0]).first).rpartition(" ")[2]
            references[f"{letter} {name}"] = leading
    own = (
        next((name for name, leading in references.items() if leading.has(key, cause)), text(cause))
        for cause in difference.causes
    )
    return tuple(dict.fromkeys([*own, *references]))[:CAUSES]


def _lettered(shared: SharedCauses) -> Iterator[tuple[str, LeadingCause]]:
    return zip(string.ascii_uppercase, shared.leading, strict=False)


def texts(causes: Iterable[Cause]) -> tuple[str, ...]:
    """A text for each."""
    return tuple(map(text, causes))


def text(cause: Cause) -> str:
    """``+31 malloc (+1 call)``, ``torch/nn/modules/linear.py:130 Linear.forward  20 → 30 …``."""
    if cause.kind is CauseKind.PYTHON:
        return f"{title(cause)}  {_bytecodes(cause)}"
    is_waiting = (cause.kind, cause.where) == (CauseKind.CUDA, CudaKind.SYNCHRONISATION.value)
    if is_waiting and not cause.base:
        return f"a synchronisation appeared: {title(cause)}"
    remark = _remark(cause)
    return f"{round(cause.change):+,} {title(cause)}{f' ({remark})' if remark else ''}"


def title(cause: Cause) -> str:
    """What changed and where, without by how much."""
    if cause.kind is CauseKind.PYTHON:
        return f"{cause.place} {cause.name}"
    if cause.kind is CauseKind.OPERATOR:
        return f"{cause.name}{' (backward)' if cause.backward else ''}"
    if cause.kind is CauseKind.CUDA:
        is_launch = cause.where == CudaKind.LAUNCH.value
        return f"launch of {unqualified(cause.name, _KERNEL_WIDTH)}" if is_launch else cause.name
    if cause.kind is not CauseKind.NATIVE:
        return cause.name
    return f"unnamed in {cause.where}" if cause.name == UNKNOWN else short(cause.name, _NAME_WIDTH)


def _calls(amount: Fraction) -> str:
    return f"{shown(amount)} call{'' if abs(amount) == 1 else 's'}"


def _bytecodes(cause: Cause) -> str:
    base, new = (f"{round(amount or 0):,}" for amount in (cause.base, cause.new))
    return f"edited, {new} bytecodes as before" if base == new else f"{base} → {new} bytecodes"


def _remark(cause: Cause) -> str:
    if cause.nameless_in:
        return f"no names in {cause.nameless_in}"
    if None in {cause.base, cause.new}:
        return "new" if cause.base is None else "gone"
    calls = cause.more_calls
    return f"{'+' if calls > 0 else ''}{_calls(calls)}" if calls else ""


def tables(shared: SharedCauses) -> list[Table]:
    """What explains most of the changes, with its share of them, where cases share anything."""
    known = [cause.share for cause in shared.leading if cause.share is not None]
    rows = []
    for letter, cause in _lettered(shared):
        share = "" if cause.share is None else cause.share
        cells = (Cell(letter, Role.STRONG), share, len(cause.keys), _leading(cause))
        rows.append(Row(cells, letter, indent=2))
    if known:
        more = f"{plural(shared.others, 'smaller cause')}, and " if shared.others else ""
        rest = ("", 1 - sum(known), "", f"{more}what single cases have alone")
        rows.append(Row(rest, role=Role.DIM))
    return [Table("causes", "", _COLUMNS, rows)] if rows else []


def _leading(leading: LeadingCause) -> str:
    first, *others = leading.members
    named = [f"{title(first.first)} ({_what(first)})"]
    named += [title(member.first) for member in others[: _NAMED - 1]]
    more = len(leading.members) - len(named)
    return f"{', '.join(named)}{f' and {more} more' if more > 0 else ''}"


def _what(shared: SharedCause) -> str:
    """By how much the cause changed: ``6 calls fewer``, ``+10 to +20 bytecodes``."""
    different = {_change(cause) for cause in shared.causes.values()}
    if len(different) == 1:
        return different.pop()
    ends = sorted(map(round, shared.span), key=abs if shared.span[1] <= 0 else None)
    span = " to ".join(f"{end:+,}" if end else "0" for end in dict.fromkeys(ends))
    return f"{span} {shared.first.kind.unit.value}"


def _change(cause: Cause) -> str:
    if cause.kind is CauseKind.PYTHON:
        return _bytecodes(cause) if cause.change else "edited"
    calls = cause.change if cause.kind.unit is CountedIn.CALLS else cause.more_calls
    if not calls:
        return _remark(cause) or f"{round(cause.change):+,} instructions"
    return f"{_calls(abs(calls))} {'more' if calls > 0 else 'fewer'}"


def every_as_values(
    shared: SharedCauses, differences: Iterable[Difference]
) -> list[dict[str, Any]]:
    """Each shared cause with its cases: what it changed in each, and the instructions of it."""
    changes = {difference.key: difference.change for difference in differences}
    letters = {id(cause): letter for letter, found in _lettered(shared) for cause in found.members}
    return [
        {
            "letter": letters.get(id(cause)),
            "kind": cause.first.kind.value,
            "name": cause.first.name,
            "place": cause.first.place,
            "unit": cause.first.kind.unit.value,
            "explained_instructions": cause.explained,
            "least": cause.span[0],
            "most": cause.span[1],
            "cases": [
                {
                    **key.as_values,
                    **{name: getattr(mine, name) for name in ("base", "new", "change")},
                    "instructions": changes[key],
                }
                for key, mine in cause.causes.items()
            ],
        }
        for cause in shared.every
    ]


def why(parts: Iterable[str], *, clipped: bool = True) -> tuple[Line, ...]:
    """What is said below a case, in one line; nothing where nothing is known."""
    said = "; ".join(part for part in parts if part)
    return (Line(f"why  {said}", Role.DIM, indent=4, clipped=clipped),) if said else ()
