"""What an iteration executes as rows, as files and the store hold it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from instruction_counts.domain.executed import Executed, OperatorCalls, PythonFunction

_FUNCTION_COLUMNS = ("file", "line", "name", "digest", "bytecodes")
_OPERATOR_COLUMNS = ("name", "backward", "calls")


def executed_to_json(executed: Executed) -> dict[str, Any]:
    """Functions and operators as rows, with the names of the columns once."""
    functions = executed.functions
    return {
        "python": executed.python,
        "function_columns": list(_FUNCTION_COLUMNS),
        "functions": None
        if functions is None
        else [[getattr(function, name) for name in _FUNCTION_COLUMNS] for function in functions],
        "operator_columns": list(_OPERATOR_COLUMNS),
        "operators": [
            [getattr(operator, name) for name in _OPERATOR_COLUMNS]
            for operator in executed.operators
        ],
    }


def executed_from_json(data: Mapping[str, Any]) -> Executed:
    """What `executed_to_json` gave.

    Raises:
        KeyError, TypeError: it is something else.
    """
    functions = data["functions"]
    return Executed(
        None if functions is None else tuple(PythonFunction(*row) for row in functions),
        tuple(OperatorCalls(*row) for row in data["operators"]),
        data["python"],
    )
