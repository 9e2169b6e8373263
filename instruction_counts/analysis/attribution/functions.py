"""Where the instructions of a case went on two sides: function by function, and why they changed.

Costs are stored over some iterations, of which the sides may have different numbers. Here all is
per iteration and exact, as fractions; rounding is left to those who show them. Exclusive costs add
up: over all functions, libraries or layers, the change is the change of the count.
"""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction

from instruction_counts.analysis.attribution.function_changes import (
    CallerChange,
    ChangeKind,
    FunctionChange,
    FunctionDifference,
    FunctionKey,
)
from instruction_counts.analysis.attribution.function_costs import Spent, renamed
from instruction_counts.analysis.attribution.inlining import Inlining, inlinings
from instruction_counts.analysis.attribution.names import short
from instruction_counts.domain.outcomes import FunctionCosts
from instruction_counts.engines.callgrind.profiles import UNKNOWN

_NAME_WIDTH = 32
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


def top_causes(difference: FunctionDifference) -> tuple[str, ...]:
    """The largest changes in short texts: ``+31 malloc (+1 call)``.

    A function that was inlined is reported with its caller, as one change: ``-20 f (g inlined)``.
    Of a library that is stripped on one side the total is reported, since no function of it has a
    match on the other. What rounds to no instruction is no cause.
    """
    nameless = nameless_libraries(difference)
    moves = [
        inlining for inlining in inlinings(difference) if inlining.caller.library not in nameless
    ]
    moved = {key for move in moves for key in (move.caller, *move.functions)}
    causes = [(move.delta, _text_of_inlining(move)) for move in moves]
    causes += [
        (share.delta, f"{share.title} (no names in {nameless[share.title]})")
        for share in difference.by_library()
        if share.title in nameless
    ]
    causes += [
        (function.delta, f"{_name(function.key)}{_remark(function)}")
        for function in difference.changed
        if function.key not in moved and function.key.library not in nameless
    ]
    causes.sort(key=lambda cause: -abs(cause[0]))
    texts = [f"{round(delta):+,} {text}" for delta, text in causes if round(delta)]
    return tuple(texts[:_MOST_CAUSES])


def _name(key: FunctionKey) -> str:
    return f"unnamed in {key.library}" if key.name == UNKNOWN else short(key.name, _NAME_WIDTH)


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


def more_calls(amount: Fraction) -> str:
    """A change of calls for people: ``+1 call``."""
    sign = "+" if amount > 0 else ""
    return f"{sign}{shown(amount)} call{'' if abs(amount) == 1 else 's'}"


def _text_of_inlining(found: Inlining) -> str:
    names = [short(key.name, _NAME_WIDTH) for key in found.functions]
    what = names[0] if len(names) == 1 else f"{names[0]} and {len(names) - 1} more"
    how = "inlined" if found.inlined else "no longer inlined"
    return f"{short(found.caller.name, _NAME_WIDTH)} ({what} {how})"


def _remark(function_change: FunctionChange) -> str:
    if function_change.kind is ChangeKind.ENTERED:
        return " (new)"
    if function_change.kind is ChangeKind.LEFT:
        return " (gone)"
    return f" ({more_calls(function_change.more_calls)})" if function_change.more_calls else ""
