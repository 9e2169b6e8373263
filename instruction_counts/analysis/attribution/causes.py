"""What changed a case: Python functions and operators first, then native functions."""

from __future__ import annotations

from instruction_counts.analysis.attribution.executed_changes import (
    ExecutedChanges,
    OperatorChange,
    PythonChange,
)
from instruction_counts.domain.causes import Cause, CauseKind


def causes_of_execution(changes: ExecutedChanges) -> tuple[Cause, ...]:
    """What changed in what an iteration executes, in the same order: functions, then operators."""
    functions = map(_of_function, changes.functions)
    return (*functions, *map(_of_operator, changes.operators))


def _of_function(change: PythonChange) -> Cause:
    return Cause(
        CauseKind.PYTHON,
        change.name,
        change.base,
        change.new,
        where=change.file,
        line=change.line,
        edited=change.edited,
    )


def _of_operator(change: OperatorChange) -> Cause:
    return Cause(CauseKind.OPERATOR, change.name, change.base, change.new, backward=change.backward)
