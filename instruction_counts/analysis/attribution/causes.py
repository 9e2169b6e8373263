"""What changed a case: Python functions first, then operators, then native functions.

Functions that are inlined on one side only are one change with their caller, not several.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from fractions import Fraction

import attrs

from instruction_counts.analysis.attribution.executed_changes import ExecutedChanges
from instruction_counts.analysis.attribution.function_changes import (
    ChangeKind,
    FunctionDifference,
    FunctionKey,
)
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.analysis.attribution.names import UNKNOWN
from instruction_counts.domain.causes import Cause, CauseKind

_MOST_CAUSES = 3

_MAIN_CALLER = Fraction(9, 10)
"""The share of its calls from which on a function is taken to be inlined into one caller."""

_ALIKE = (Fraction(1, 2), Fraction(3, 2))
"""What a caller gained, relative to what the inlined function lost, where the two are one change.

Inlined code is cheaper by the call, and cheaper or more expensive by what the compiler makes of it.
"""


def causes_of_case(
    executed: ExecutedChanges, native: FunctionDifference | None = None
) -> tuple[Cause, ...]:
    """All Python functions and operators that changed, and the largest changes of native functions.

    The interpreter's functions carry the work of Python functions: where one of these changed, they
    are not named as well, and what they cost more is shared among them by their bytecodes.
    ``native`` is None where the costs of native functions are not known, or nothing changed in
    them.
    """
    shares = native.by_layer() if native is not None else ()
    interpreted = sum(
        (share.delta for share in shares if share.title == Layer.INTERPRETER.value), Fraction()
    )
    # An edited function with as many bytecodes as before has a part in it, too.
    whole = sum(abs(change.delta) or 1 for change in executed.functions)
    causes = [
        Cause(
            *(CauseKind.PYTHON, change.name, change.base, change.new),
            where=change.file,
            line=change.line,
            edited=change.edited,
            interpreted=interpreted * Fraction(abs(change.delta) or 1, whole),
        )
        for change in executed.functions
    ]
    causes += [
        Cause(*(CauseKind.OPERATOR, change.name, change.base, change.new), backward=change.backward)
        for change in executed.operators
    ]
    if native is not None:
        causes += top_causes(native.without(Layer.INTERPRETER) if executed.functions else native)
    return tuple(causes)


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
    causes = [_cause_of_inlining(move, difference) for move in moves]
    causes += [
        Cause(
            *(CauseKind.LIBRARY, share.title, share.base, share.new),
            where=share.title,
            nameless_in=nameless[share.title],
        )
        for share in difference.by_library()
        if share.title in nameless
    ]
    causes += [
        Cause(
            *(CauseKind.NATIVE, function.key.name, function.base, function.new),
            where=function.key.library,
            more_calls=function.more_calls,
        )
        for function in difference.changed
        if function.key not in moved and function.key.library not in nameless
    ]
    causes.sort(key=lambda cause: -abs(cause.change))
    return tuple(cause for cause in causes if round(cause.change))[:_MOST_CAUSES]


def _cause_of_inlining(move: Inlining, difference: FunctionDifference) -> Cause:
    moved = {move.caller, *move.functions}
    both = FunctionDifference(tuple(part for part in difference.functions if part.key in moved))
    names = tuple(key.name for key in move.functions)
    return Cause(
        *(CauseKind.NATIVE, move.caller.name, both.base, both.new),
        where=move.caller.library,
        inlined=names if move.inlined else (),
        no_longer_inlined=() if move.inlined else names,
    )


def nameless_libraries(difference: FunctionDifference) -> dict[str, str]:
    """The libraries that spend over a quarter of their instructions in unnamed functions on a side.

    By library, with that side: ``base``, ``new`` or ``both``.
    """
    functions = difference.functions
    unnamed = FunctionDifference(tuple(part for part in functions if part.key.name == UNKNOWN))
    nameless = {share.title: share for share in unnamed.by_library()}
    found = {}
    for share in difference.by_library():
        part = nameless.get(share.title)
        if part is None or share.title == UNKNOWN:
            continue
        stripped = 4 * part.base > share.base, 4 * part.new > share.new
        if any(stripped):
            found[share.title] = "both" if all(stripped) else "base" if stripped[0] else "new"
    return found


# ----------------------------------------------------------------------------------- inlining


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
