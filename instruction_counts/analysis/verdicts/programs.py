"""Whether both sides of a case executed the same program: bytecodes and operators are exact."""

from __future__ import annotations

import enum

from instruction_counts.domain.records import Record


class Program(enum.Enum):
    """What is known of what two sides executed."""

    UNKNOWN = "unknown"
    """It is not known of a side, or the sides have different versions of Python."""
    SAME = "same"
    """Each Python function with the same code, as often; each operator as often."""
    EDITED = "edited"
    """Other Python code, which executes as many bytecodes; the same operators."""
    PYTHON_DIFFERS = "Python code differs"
    OPERATORS_DIFFER = "operators differ"


OTHER_PROGRAMS = frozenset({Program.PYTHON_DIFFERS, Program.OPERATORS_DIFFER})
"""What is a change whatever layouts do."""


def program(base: Record | None, new: Record | None) -> Program:
    """What two sides of a case executed, held against each other."""
    before, after = (
        record.outcome.executed_digests if record is not None else None for record in (base, new)
    )
    if before is None or after is None:
        return Program.UNKNOWN
    same_python = before.python == after.python
    if same_python and before.bytecodes != after.bytecodes:
        return Program.PYTHON_DIFFERS
    if before.operators != after.operators:
        return Program.OPERATORS_DIFFER
    if not same_python:
        return Program.UNKNOWN
    return Program.SAME if before.code == after.code else Program.EDITED
