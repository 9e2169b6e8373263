"""What changed a case: Python functions first, then operators, then native functions.

Python functions are the same on both sides if they have one name in one file; where a file holds
several of that name, such as lambdas, they are taken together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from fractions import Fraction

import attrs

from instruction_counts.analysis.attribution.functions import FunctionDifference
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.analysis.attribution.names import UNKNOWN
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.executed import Executed, PythonFunction

_MOST_CAUSES = 3


def causes_of_case(
    executed: Sequence[Cause], native: FunctionDifference | None = None
) -> tuple[Cause, ...]:
    """All Python functions and operators that changed, and the largest changes of native functions.

    The interpreter's functions carry the work of Python functions: where one of these changed, they
    are not named as well, and what they cost more is shared among them by their bytecodes.
    ``native`` is None where the costs of native functions are not known, or nothing changed in
    them.
    """
    if native is None:
        return tuple(executed)
    interpreted = sum(
        (share.delta for share in native.by_layer() if share.title == Layer.INTERPRETER.value),
        Fraction(),
    )
    # An edited function with as many bytecodes as before has a part in it, too.
    parts = [abs(cause.change) or 1 if _is_python(cause) else 0 for cause in executed]
    whole = sum(parts)
    causes = [
        attrs.evolve(cause, interpreted=interpreted * Fraction(part, whole)) if part else cause
        for cause, part in zip(executed, parts, strict=True)
    ]
    return (*causes, *top_causes(native.without(Layer.INTERPRETER) if whole else native))


def _is_python(cause: Cause) -> bool:
    return cause.kind is CauseKind.PYTHON


def top_causes(difference: FunctionDifference) -> tuple[Cause, ...]:
    """The three largest changes.

    Of a library that is stripped on one side the total is reported, since no function of it has a
    match on the other. What rounds to no instruction is no cause.
    """
    nameless = nameless_libraries(difference)
    causes = [
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
        for function in difference.functions
        if function.delta and function.key.library not in nameless
    ]
    causes.sort(key=lambda cause: -abs(cause.change))
    return tuple(cause for cause in causes if round(cause.change))[:_MOST_CAUSES]


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


# ------------------------------------------------------------------------ what is executed


def executed_changes(base: Executed | None, new: Executed | None) -> tuple[Cause, ...]:
    """What ``new`` executes that ``base`` does not; nothing where a side is not known.

    Edited functions come first, then other functions, then operators; the largest change first.
    """
    if base is None or new is None:
        return ()
    found = executed_on_both(base, new)
    return tuple(cause for cause in found if cause.edited or cause.change)


def executed_on_both(base: Executed, new: Executed) -> tuple[Cause, ...]:
    """The same with what did not change; amounts are 0 where a side does not execute something.

    Bytecodes of different versions of Python are not compared: no functions then.
    """
    functions: list[Cause] = []
    if base.python == new.python:
        functions += _functions(base.functions or (), new.functions or ())
    operators = sorted(_operators(base, new), key=_rank)
    return (*sorted(functions, key=lambda cause: (not cause.edited, *_rank(cause))), *operators)


def _rank(cause: Cause) -> tuple[Fraction, Fraction, str]:
    return -abs(cause.change), -max(cause.base or Fraction(), cause.new or Fraction()), cause.name


def _functions(base: Sequence[PythonFunction], new: Sequence[PythonFunction]) -> Iterator[Cause]:
    before, after = _by_name(base), _by_name(new)
    for file, name in {**before, **after}:
        old, now = before.get((file, name), []), after.get((file, name), [])
        less, more = (sum(function.bytecodes for function in side) for side in (old, now))
        digests = [{function.digest for function in side} for side in (old, now)]
        edited = bool(old and now) and digests[0] != digests[1]
        line = (now or old)[0].line
        yield Cause(CauseKind.PYTHON, name, less, more, where=file, line=line, edited=edited)


def _by_name(
    functions: Sequence[PythonFunction],
) -> dict[tuple[str, str], list[PythonFunction]]:
    found = defaultdict(list)
    for function in functions:
        found[function.file, function.name].append(function)
    return found


def _operators(base: Executed, new: Executed) -> Iterator[Cause]:
    before, after = (
        Counter({(operator.name, operator.backward): operator.calls for operator in side.operators})
        for side in (base, new)
    )
    for key in {**before, **after}:
        name, backward = key
        yield Cause(CauseKind.OPERATOR, name, before[key], after[key], backward=backward)
