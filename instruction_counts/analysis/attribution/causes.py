"""What changed a case: Python functions first, then operators, then native functions."""

from __future__ import annotations

from instruction_counts.analysis.attribution.executed_changes import (
    ExecutedChanges,
    OperatorChange,
    PythonChange,
)
from instruction_counts.analysis.attribution.function_changes import FunctionDifference
from instruction_counts.analysis.attribution.functions import top_causes
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.domain.causes import Cause, CauseKind


def causes_of_case(
    executed: ExecutedChanges, native: FunctionDifference | None = None
) -> tuple[Cause, ...]:
    """All Python functions and operators that changed, and the largest changes of native functions.

    The interpreter's functions carry the work of Python functions: where one of these changed, they
    are not named as well. ``native`` is None where the costs of native functions are not known, or
    nothing changed in them.
    """
    causes = [*map(_of_function, executed.functions), *map(_of_operator, executed.operators)]
    if native is not None:
        causes += top_causes(native.without(Layer.INTERPRETER) if executed.functions else native)
    return tuple(causes)


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
