"""Costs per function as rows, as files and the store hold them."""

from __future__ import annotations

from typing import Any

from instruction_counts.domain.outcomes import CallCost, FunctionCost, FunctionCosts
from instruction_counts.storage.rules import UnfitError

_COLUMNS = ("exclusive", "inclusive", "function", "file", "library")
_CALL_COLUMNS = ("caller", "callee", "calls", "instructions")
_KEYS = ("runs", "columns", "costs", "call_columns", "calls")


def functions_to_json(functions: FunctionCosts) -> dict[str, Any]:
    """Costs and calls as rows, with the names of the columns once."""
    return {
        "runs": functions.runs,
        "columns": list(_COLUMNS),
        "costs": [[getattr(cost, name) for name in _COLUMNS] for cost in functions.costs],
        "call_columns": list(_CALL_COLUMNS),
        "calls": [[getattr(call, name) for name in _CALL_COLUMNS] for call in functions.calls],
    }


def functions_from_json(data: Any) -> FunctionCosts:
    """What `functions_to_json` gave. There are hundreds of rows in a case: it has to be quick.

    Raises:
        ValueError: it is something else.
    """
    if not isinstance(data, dict) or data.keys() != set(_KEYS):
        raise UnfitError(f"an object of {', '.join(_KEYS)}", data)
    for key, columns in (("columns", _COLUMNS), ("call_columns", _CALL_COLUMNS)):
        if data[key] != list(columns):
            raise UnfitError(f"{key} {list(columns)}", data[key])
    runs, rows, calls = data["runs"], data["costs"], data["calls"]
    if type(runs) is not int or runs < 1:
        raise UnfitError("runs of at least 1", runs)
    for key in ("costs", "calls"):
        if type(data[key]) is not list:
            raise UnfitError(f"a list of {key}", data[key])
    costs = tuple([_cost(row) for row in rows])
    return FunctionCosts(runs, costs, tuple([_call(row, len(costs)) for row in calls]))


def _cost(row: Any) -> FunctionCost:
    if type(row) is list and len(row) == len(_COLUMNS):
        exclusive, inclusive, function, file, library = row
        if (
            type(exclusive) is int
            and (inclusive is None or type(inclusive) is int)
            and type(function) is type(file) is type(library) is str
        ):
            return FunctionCost(library, file, function, exclusive, inclusive)
    raise UnfitError("a row of costs", row)


def _call(row: Any, costs: int) -> CallCost:
    if type(row) is list and len(row) == len(_CALL_COLUMNS):
        caller, callee, calls, instructions = row
        if (
            type(caller) is type(callee) is type(calls) is type(instructions) is int
            and 0 <= caller < costs
            and 0 <= callee < costs
        ):
            return CallCost(caller, callee, calls, instructions)
    raise UnfitError(f"a row of calls between {costs} functions", row)
