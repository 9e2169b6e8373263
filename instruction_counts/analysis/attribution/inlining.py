"""Functions that are inlined on one side only: one change with their caller, not several."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction

import attrs

from instruction_counts.analysis.attribution.function_changes import (
    ChangeKind,
    FunctionDifference,
    FunctionKey,
)

_MAIN_CALLER = Fraction(9, 10)
"""The share of its calls from which on a function is taken to be inlined into one caller."""

_ALIKE = (Fraction(1, 2), Fraction(3, 2))
"""What a caller gained, relative to what the inlined function lost, where the two are one change.

Inlined code is cheaper by the call, and cheaper or more expensive by what the compiler makes of it.
"""


@attrs.frozen
class Inlining:
    """Functions that are inlined into their caller on one side: one change, and not several."""

    caller: FunctionKey
    functions: tuple[FunctionKey, ...]
    """The largest first."""
    inlined: bool
    """In new; otherwise in base."""
    delta: Fraction
    """Of all of them together."""


def inlinings(difference: FunctionDifference) -> tuple[Inlining, ...]:
    """What was inlined or no longer is, as far as calls and costs show it."""
    both = (_on_one_side(difference, inlined=inlined) for inlined in (True, False))
    return tuple(move for found in both for move in found)


def _on_one_side(difference: FunctionDifference, *, inlined: bool) -> Iterator[Inlining]:
    gone_kind = ChangeKind.LEFT if inlined else ChangeKind.ENTERED
    changes = {function.key: function for function in difference.functions}
    gone = [
        function.key
        for function in difference.functions
        if function.kind is gone_kind and function.delta
    ]
    callers = _main_callers(difference, gone, inlined=inlined)
    groups: dict[FunctionKey, list[FunctionKey]] = defaultdict(list)
    for key in gone:
        caller, seen = callers.get(key), {key}
        while caller in callers and caller not in seen:  # it may be inlined itself, and so on
            seen.add(caller)
            caller = callers[caller]
        if caller is not None and changes[caller].kind is ChangeKind.CHANGED:
            groups[caller].append(key)
    low, high = _ALIKE
    for caller, keys in groups.items():
        lost = sum((changes[key].delta for key in keys), Fraction())
        gained = changes[caller].delta
        if lost and low <= -gained / lost <= high:
            yield Inlining(caller, tuple(keys), inlined, gained + lost)


def _main_callers(
    difference: FunctionDifference, keys: Iterable[FunctionKey], *, inlined: bool
) -> dict[FunctionKey, FunctionKey]:
    wanted = set(keys)
    calls: dict[FunctionKey, dict[FunctionKey, Fraction]] = defaultdict(dict)
    for call in difference.calls:
        if call.callee in wanted and call.caller != call.callee:
            number = call.base_calls if inlined else call.new_calls
            calls[call.callee][call.caller] = number or Fraction()
    main = {}
    for callee, numbers in calls.items():
        caller = max(numbers, key=lambda key: (numbers[key], key))
        if numbers[caller] > 0 and numbers[caller] >= _MAIN_CALLER * sum(numbers.values()):
            main[callee] = caller
    return main
