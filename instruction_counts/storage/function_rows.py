"""Costs per function as rows, as files and the store hold them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from instruction_counts.domain.outcomes import CallCost, FunctionCost, FunctionCosts

_COLUMNS = ("exclusive", "inclusive", "function", "file", "library")
_CALL_COLUMNS = ("caller", "callee", "calls", "instructions")


def functions_to_json(functions: FunctionCosts) -> dict[str, Any]:
    """Costs and calls as rows, with the names of the columns once."""
    return {
        "runs": functions.runs,
        "columns": list(_COLUMNS),
        "costs": [[getattr(cost, name) for name in _COLUMNS] for cost in functions.costs],
        "call_columns": list(_CALL_COLUMNS),
        "calls": [[getattr(call, name) for name in _CALL_COLUMNS] for call in functions.calls],
    }


def functions_from_json(data: Mapping[str, Any]) -> FunctionCosts:
    """What `functions_to_json` gave. There are hundreds of rows in a case: it has to be quick.

    Raises:
        ValueError, KeyError, TypeError: it is something else.
    """
    costs = [
        FunctionCost(library, file, function, exclusive, inclusive)
        for exclusive, inclusive, function, file, library in data["costs"]
    ]
    calls = [CallCost(*row) for row in data["calls"]]
    return FunctionCosts(data["runs"], tuple(costs), tuple(calls))
