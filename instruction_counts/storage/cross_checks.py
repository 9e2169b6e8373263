"""What figures of a result file have to say of each other, which a schema cannot express."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

from core.labels import by_option
from core.types import RuntimeMode
from instruction_counts.domain.errors import Problem
from instruction_counts.reading.nodes import one_of
from instruction_counts.storage.schema import problem_at

_MOST_LEVELS = 900
"""Of metadata: what Python 3.11 can write again. Later ones could write more."""

_ROUNDING = 20
"""Instructions per run: the costs of each function of the loop are rounded before they are
subtracted."""


def problems(document: Mapping[str, Any], name: str) -> list[Problem]:
    """What is impossible in the ``document`` of a file called ``name``, which fits the schema."""
    return [
        problem_at(name, ("cases", place, *field), _at(case, field), expected, *found)
        for place, case in enumerate(document["cases"])
        for field, expected, *found in _of_case(case)
    ]


_Finding: TypeAlias = tuple[tuple[str | int, ...], str] | tuple[tuple[str | int, ...], str, str]
"""The field, what was expected there, and what was found if that is not its value."""


def _of_case(case: Mapping[str, Any]) -> Iterator[_Finding]:
    runtimes = by_option(RuntimeMode)
    if case["runtime"] not in runtimes:
        yield ("runtime",), one_of(runtimes, case["runtime"])
    if case["metadata"] and not _can_be_written(case["metadata"]):
        yield ("metadata",), f"an object that JSON can hold, of at most {_MOST_LEVELS} levels"
    counted, costs = case["instructions"], case["functions"]
    wrong = [] if counted is None else list(_of_count(counted))
    yield from wrong
    if costs is not None:
        yield from _of_calls(costs)
    if not (wrong or counted is None or costs is None):
        yield from _of_costs(counted, costs)


def _can_be_written(value: object) -> bool:
    if _levels(value) > _MOST_LEVELS:
        return False
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True


def _levels(value: object) -> int:
    """How deep lists and objects are nested in one another; the call stack has no part in it."""
    levels, inner = 0, [value]
    while inner:
        levels += 1
        inner = [
            part
            for value in inner
            if isinstance(value, list | dict)
            for part in (value.values() if isinstance(value, dict) else value)
        ]
    return levels - 1


def _of_count(counted: Mapping[str, Any]) -> Iterator[_Finding]:
    cost = counted["per_run"] + counted["loop"]
    if cost < 0:
        yield ("instructions", "per_run"), f"at least {-counted['loop']}: less than nothing is left"
    # An estimate is the difference of two windows, of which one has twice the runs.
    largest = max(window["instructions"] / window["runs"] for window in counted["windows"])
    most = max(cost, 3 * largest)
    if counted["spread"] > most:
        yield ("instructions", "spread"), f"at most {most:,.0f}, by what its windows counted"


def _of_calls(functions: Mapping[str, Any]) -> Iterator[_Finding]:
    known = len(functions["costs"])
    for place, row in enumerate(functions["calls"]):
        if max(row[0], row[1]) >= known:
            cell = 0 if row[0] >= known else 1
            yield ("functions", "calls", place, cell), f"a position in costs, less than {known}"


def _of_costs(counted: Mapping[str, Any], functions: Mapping[str, Any]) -> Iterator[_Finding]:
    """The costs add up to the count; with the loop, of the first window, if it is the timer's."""
    total = sum(row[0] for row in functions["costs"])
    count, runs = counted["per_run"], functions["runs"]
    slack = _ROUNDING + abs(count) / 100
    low, high = count - slack, count + counted["loop"] + counted["spread"] + slack
    if not low * runs <= total <= high * runs:
        yield (
            ("functions", "costs"),
            f"costs that add up to {count:,} instructions per run",
            f"costs that add up to {total / runs:,.0f}",
        )


def _at(value: Any, steps: tuple[str | int, ...]) -> Any:
    for step in steps:
        value = value[step]
    return value
