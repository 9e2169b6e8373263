"""What changed a case: Python functions, what is asked of CUDA, operators, native functions.

Python functions are the same on both sides if they have one name in one file; where a file holds
several of that name, such as lambdas, they are taken together.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice

import attrs

from instruction_counts.analysis.attribution.functions import FunctionDifference
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.analysis.attribution.names import UNKNOWN
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.executed import CudaKind, Executed, PythonFunction

_MOST_CAUSES = 3


def causes_of_case(executed: Sequence[Cause], native: FunctionDifference) -> tuple[Cause, ...]:
    """All Python functions and operators that changed, and the largest changes of native functions.

    The interpreter's functions carry the work of Python functions: where one of these changed, they
    are not named as well, and what they cost more is shared among them by their bytecodes.
    """
    interpreted = sum(
        (share.delta for share in native.by_layer() if share.title == Layer.INTERPRETER.value),
        Fraction(),
    )
    # An edited function with as many bytecodes as before has a part in it, too.
    parts = [(abs(cause.change) or 1) * (cause.kind is CauseKind.PYTHON) for cause in executed]
    whole = sum(parts)
    if whole:
        functions = (each for each in native.functions if each.key.layer is not Layer.INTERPRETER)
        native = FunctionDifference(tuple(functions))
    causes = [
        attrs.evolve(cause, interpreted=interpreted * Fraction(part, whole)) if part else cause
        for cause, part in zip(executed, parts, strict=True)
    ]
    return (*causes, *top_causes(native))


def top_causes(difference: FunctionDifference) -> tuple[Cause, ...]:
    """The three largest changes.

    Of a library that is stripped on one side the total is reported, since no function of it has a
    match on the other. What rounds to no instruction is no cause.
    """
    nameless, causes = nameless_libraries(difference), []
    for share in difference.by_library() if nameless else ():
        if side := nameless.get(share.title, ""):
            about = CauseKind.LIBRARY, share.title, share.base, share.new, share.title
            causes.append(Cause(*about, nameless_in=side))
    named = (found for found in difference.functions if found.key.library not in nameless)
    for found in islice(named, _MOST_CAUSES):
        amounts = found.base, found.new, found.key.library
        native = Cause(CauseKind.NATIVE, found.key.name, *amounts, more_calls=found.more_calls)
        causes.append(native)
    causes.sort(key=lambda cause: -abs(cause.change))
    return tuple(cause for cause in causes if round(cause.change))[:_MOST_CAUSES]


def nameless_libraries(difference: FunctionDifference) -> dict[str, str]:
    """The libraries that spend over a quarter of their instructions in unnamed functions on a side.

    By library, with that side: ``base``, ``new`` or ``both``.
    """
    unnamed = tuple(part for part in difference.functions if part.key.name == UNKNOWN)
    every = {share.title: share for share in difference.by_library() if share.title != UNKNOWN}
    found = {}
    for part in FunctionDifference(unnamed).by_library():
        if share := every.get(part.title):
            stripped = 4 * part.base > share.base, 4 * part.new > share.new
            if any(stripped):
                found[share.title] = "both" if all(stripped) else "base" if stripped[0] else "new"
    return found


# ------------------------------------------------------------------------ what is executed


def executed_changes(base: Executed | None, new: Executed | None) -> tuple[Cause, ...]:
    """What ``new`` executes that ``base`` does not; nothing where a side is not known.

    Edited functions come first, then what is asked of CUDA, other functions and operators; of each
    the largest change first.
    """
    if base is None or new is None:
        return ()
    found = executed_on_both(base, new)
    return tuple(cause for cause in found if cause.edited or cause.change)


def executed_on_both(base: Executed, new: Executed) -> tuple[Cause, ...]:
    """The same with what did not change; amounts are 0 where a side does not execute something.

    Bytecodes of different versions of Python are not compared: no functions then.
    """
    sides = base, new
    functions = _functions(base, new) if base.python == new.python else ()
    operators = ({(of.name, "", of.backward): of.calls for of in side.operators} for side in sides)
    cuda = ({(of.name, of.kind.value, False): of.calls for of in side.cuda or ()} for side in sides)
    asked = (*_asked(CauseKind.CUDA, *cuda), *_asked(CauseKind.OPERATOR, *operators))
    return tuple(sorted((*functions, *asked), key=_place))


_CUDA_KINDS = [kind.value for kind in CudaKind]
_AFTER_EDITED = [CauseKind.CUDA, CauseKind.PYTHON, CauseKind.OPERATOR]


def _place(cause: Cause) -> tuple[int, int, Fraction, Fraction, str]:
    """By what it is of, then the largest change first."""
    group = -1 if cause.edited else _AFTER_EDITED.index(cause.kind)
    kind = _CUDA_KINDS.index(cause.where) if cause.kind is CauseKind.CUDA else 0
    largest = max(cause.base or Fraction(), cause.new or Fraction())
    return group, kind, -abs(cause.change), -largest, cause.name


def _functions(base: Executed, new: Executed) -> Iterator[Cause]:
    groups: dict[tuple[str, str], tuple[list[PythonFunction], list[PythonFunction]]]
    groups = defaultdict(lambda: ([], []))
    for side, executed in enumerate((base, new)):
        for function in executed.functions or ():
            groups[function.file, function.name][side].append(function)
    for (file, name), (old, now) in groups.items():
        less, more = (sum(function.bytecodes for function in side) for side in (old, now))
        digests = [{function.digest for function in side} for side in (old, now)]
        edited = bool(old and now) and digests[0] != digests[1]
        line = (now or old)[0].line
        yield Cause(CauseKind.PYTHON, name, less, more, where=file, line=line, edited=edited)


def _asked(kind: CauseKind, *sides: Mapping[tuple[str, str, bool], int]) -> Iterator[Cause]:
    """How often, by name, place and whether it is backward."""
    before, after = map(Counter, sides)
    for name, where, backward in {**before, **after}:
        calls = before[name, where, backward], after[name, where, backward]
        yield Cause(kind, name, *calls, where=where, backward=backward)
