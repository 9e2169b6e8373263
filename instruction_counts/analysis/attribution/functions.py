"""Where the instructions of a case went on two sides: function by function, and why they changed.

Costs are stored over some iterations, of which the sides may have different numbers. Here all is
per iteration and exact, as fractions; rounding is left to those who show them. Exclusive costs add
up: over all functions, libraries or layers, the change is the change of the count.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction

from instruction_counts.analysis.attribution.function_changes import (
    CallerChange,
    FunctionChange,
    FunctionDifference,
    FunctionKey,
)
from instruction_counts.analysis.attribution.function_costs import Spent, renamed
from instruction_counts.analysis.attribution.inlining import Inlining, inlinings
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.outcomes import FunctionCosts
from instruction_counts.engines.callgrind.profiles import UNKNOWN

_MOST_CAUSES = 3


def difference(base: FunctionCosts | None, new: FunctionCosts | None) -> FunctionDifference:
    """What changed from ``base`` to ``new``; a side that is None spends nothing.

    Raises:
        DataError: the costs of a side contradict themselves.
    """
    before, after = Spent.of(base), Spent.of(new)
    names = renamed(before.costs, after.costs)
    old_names = {key: old.name for old, key in names.items()}
    before = before.with_names(names)
    functions = [
        FunctionChange(
            key,
            before.costs.get(key),
            after.costs.get(key),
            before.calls_into(key),
            after.calls_into(key),
            old_names.get(key, ""),
        )
        for key in dict.fromkeys([*after.costs, *before.costs])
    ]
    calls = []
    for edge in dict.fromkeys([*after.calls, *before.calls]):
        (base_calls, base_cost), (new_calls, new_cost) = before.call(edge), after.call(edge)
        calls.append(CallerChange(*edge, base_calls, new_calls, base_cost, new_cost))
    functions.sort(key=lambda function: (*_size(function), function.key))
    calls.sort(key=lambda call: (*_size(call), call.callee, call.caller))
    return FunctionDifference(tuple(functions), tuple(calls))


def _size(function_change: FunctionChange | CallerChange) -> tuple[Fraction, Fraction]:
    nothing = Fraction()
    return -abs(function_change.delta), -max(
        function_change.base or nothing, function_change.new or nothing
    )


def top_causes(difference: FunctionDifference) -> tuple[Cause, ...]:
    """The three largest changes.

    A function that was inlined is reported with its caller, as one change. Of a library that is
    stripped on one side the total is reported, since no function of it has a match on the other.
    What rounds to no instruction is no cause.
    """
    nameless = nameless_libraries(difference)
    moves = [
        inlining for inlining in inlinings(difference) if inlining.caller.library not in nameless
    ]
    moved = {key for move in moves for key in (move.caller, *move.functions)}
    changes = {function.key: function for function in difference.functions}
    causes = [_cause_of_inlining(move, changes) for move in moves]
    causes += [
        Cause(
            CauseKind.LIBRARY,
            share.title,
            share.base,
            share.new,
            where=share.title,
            nameless_in=nameless[share.title],
        )
        for share in difference.by_library()
        if share.title in nameless
    ]
    causes += [
        _cause(function)
        for function in difference.changed
        if function.key not in moved and function.key.library not in nameless
    ]
    causes.sort(key=lambda cause: -abs(cause.change))
    return tuple(cause for cause in causes if round(cause.change))[:_MOST_CAUSES]


def _cause(change: FunctionChange) -> Cause:
    key = change.key
    return Cause(
        CauseKind.NATIVE,
        key.name,
        change.base,
        change.new,
        where=key.library,
        more_calls=change.more_calls,
    )


def _cause_of_inlining(move: Inlining, changes: Mapping[FunctionKey, FunctionChange]) -> Cause:
    parts = [changes[key] for key in (move.caller, *move.functions)]
    base, new = (
        sum((amount or Fraction() for amount in side), Fraction())
        for side in ([part.base for part in parts], [part.new for part in parts])
    )
    names = tuple(key.name for key in move.functions)
    return Cause(
        CauseKind.NATIVE,
        move.caller.name,
        base,
        new,
        where=move.caller.library,
        inlined=names if move.inlined else (),
        no_longer_inlined=() if move.inlined else names,
    )


def nameless_libraries(difference: FunctionDifference) -> dict[str, str]:
    """The libraries that spend over a quarter of their instructions in unnamed functions on a side.

    By library, with that side: ``base``, ``new`` or ``both``.
    """
    sums: dict[str, list[Fraction]] = defaultdict(lambda: [Fraction()] * 4)
    for function in difference.functions:
        for place, cost in enumerate((function.base or Fraction(), function.new or Fraction())):
            sums[function.key.library][place] += cost
            if function.key.name == UNKNOWN:
                sums[function.key.library][2 + place] += cost
    found = {}
    for library, (base, new, base_nameless, new_nameless) in sums.items():
        stripped = (4 * base_nameless > base, 4 * new_nameless > new)
        if library != UNKNOWN and any(stripped):
            found[library] = {(True, True): "both", (True, False): "base"}.get(stripped, "new")
    return found


def shown(amount: Fraction) -> str:
    """An amount per iteration for people: ``1``, ``0.5``, ``1,234.33``."""
    if amount.denominator == 1:
        return f"{amount.numerator:,}"
    return f"{float(amount):,.2f}".rstrip("0").rstrip(".")
