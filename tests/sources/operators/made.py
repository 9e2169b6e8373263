"""Short ways to make calls of operators."""

from typing import Any

from instruction_counts.sources.operators.calls import Call, Overrides, calls
from instruction_counts.sources.operators.entries import OperatorEntry, Tensor

SQUARE = Tensor({"small": (2, 2), "typical": (8, 8), "large": (64, 64)})


def call_of(entry: OperatorEntry, **overrides: Any) -> Call:
    """The one call of an entry."""
    (call,) = calls(entry, Overrides(**overrides))
    return call


def entry(name: str, kwargs: dict[str, Any] | None = None, **fields: Any) -> OperatorEntry:
    """An operator of one tensor, unless ``fields`` say otherwise."""
    stated = {"category": "a", "inputs": {"input": SQUARE}, "kwargs": kwargs or {}, **fields}
    return OperatorEntry(name=name, **stated)
