"""What an iteration executes, for people: Python functions and operators, of one side or two."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs

from instruction_counts.analysis.attribution.causes import causes_of_case
from instruction_counts.analysis.attribution.executed_changes import (
    ExecutedChanges,
    executed_on_both,
)
from instruction_counts.domain.executed import Executed
from instruction_counts.report.causes import texts

SECTIONS = ("python", "operator")


@attrs.frozen
class Block:
    """A heading, with the lines below it."""

    heading: str
    lines: tuple[str, ...] = ()


def not_stored(titles: Sequence[str]) -> str:
    """What is said where nobody knows what these sides execute."""
    return f"Python functions and operators were not stored for {' and '.join(titles)}."


def blocks(base: Executed, new: Executed, sections: Sequence[str], limit: int) -> Iterator[Block]:
    """What changed from one side to the other, at most ``limit`` lines a block; 0 shows all."""
    found = executed_on_both(base, new)
    if "python" in sections and base.bytecodes is not None and new.bytecodes is not None:
        yield _python(base, new, found, limit)
    if "operator" in sections:
        totals = _totals(base.operator_calls, new.operator_calls, "call")
        changes = texts(causes_of_case(ExecutedChanges((), found.changed.operators)))
        yield _block("by operator", totals, changes, len(found.operators), limit)


def _python(base: Executed, new: Executed, found: ExecutedChanges, limit: int) -> Block:
    title = "by Python function"
    if base.python != new.python:
        return Block(f"{title}: Python {base.python} and {new.python} cannot be compared")
    totals = _totals(base.bytecodes or 0, new.bytecodes or 0, "bytecode")
    changes = texts(causes_of_case(ExecutedChanges(found.changed.functions)))
    return _block(title, totals, changes, len(found.functions), limit)


def _block(title: str, totals: str, changes: tuple[str, ...], number: int, limit: int) -> Block:
    if not changes:
        return Block(f"{title}: none of {number:,} changed, {totals}")
    kept = changes[: limit or None]
    more = (f"… and {len(changes) - len(kept):,} more",) if len(kept) < len(changes) else ()
    return Block(f"{title} ({len(changes):,} of {number:,} changed, {totals})", kept + more)


def _totals(base: int, new: int, unit: str) -> str:
    amounts = f"{new:,}" if base == new else f"{base:,} → {new:,}"
    return f"{amounts} {unit}{'' if base == new == 1 else 's'}"
