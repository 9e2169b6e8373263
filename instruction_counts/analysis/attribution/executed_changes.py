"""What changed in what one iteration executes: the functions and operators that a person can open.

Functions are the same on both sides if they have one name in one file; where a file holds several
of that name, such as lambdas, they are taken together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence

import attrs

from instruction_counts.domain.executed import Executed, PythonFunction


@attrs.frozen
class PythonChange:
    """A Python function that executes another number of bytecodes."""

    file: str
    line: int
    """In new, or in base where new has no such function."""
    name: str
    base: int
    """0 where base does not execute it."""
    new: int
    edited: bool
    """Whether its code is another one; where not, it is called more or less often, or takes another
    way."""

    @property
    def delta(self) -> int:
        """Bytecodes that new executes more."""
        return self.new - self.base


@attrs.frozen
class OperatorChange:
    """An operator that is called more or less often."""

    name: str
    backward: bool
    base: int
    new: int

    @property
    def delta(self) -> int:
        """Calls that new has more."""
        return self.new - self.base


@attrs.frozen
class ExecutedChanges:
    """All of it, the largest change first."""

    functions: tuple[PythonChange, ...] = ()
    operators: tuple[OperatorChange, ...] = ()

    @property
    def changed(self) -> ExecutedChanges:
        """Without what is the same on both sides."""
        return ExecutedChanges(
            tuple(change for change in self.functions if change.edited or change.delta),
            tuple(change for change in self.operators if change.delta),
        )


def executed_changes(base: Executed | None, new: Executed | None) -> ExecutedChanges:
    """What ``new`` executes that ``base`` does not; nothing where a side is not known.

    Bytecodes of different versions of Python are not compared.
    """
    if base is None or new is None:
        return ExecutedChanges()
    return executed_on_both(base, new).changed


def executed_on_both(base: Executed, new: Executed) -> ExecutedChanges:
    """What either side executes, whether it changed or not; no functions as above."""
    functions: Iterable[PythonChange] = ()
    if base.python == new.python:
        functions = _function_changes(base.functions or (), new.functions or ())
    operators = _operator_changes(base, new)
    return ExecutedChanges(
        tuple(sorted(functions, key=lambda change: (not change.edited, *_rank(change)))),
        tuple(sorted(operators, key=_rank)),
    )


def _rank(change: PythonChange | OperatorChange) -> tuple[int, int, str]:
    return -abs(change.delta), -max(change.base, change.new), change.name


def _function_changes(
    base: Sequence[PythonFunction], new: Sequence[PythonFunction]
) -> Iterator[PythonChange]:
    before, after = _by_name(base), _by_name(new)
    for file, name in {**before, **after}:
        old, now = before.get((file, name), []), after.get((file, name), [])
        less, more = (sum(function.bytecodes for function in side) for side in (old, now))
        digests = [{function.digest for function in side} for side in (old, now)]
        edited = bool(old and now) and digests[0] != digests[1]
        yield PythonChange(file, (now or old)[0].line, name, less, more, edited)


def _by_name(
    functions: Sequence[PythonFunction],
) -> dict[tuple[str, str], list[PythonFunction]]:
    found = defaultdict(list)
    for function in functions:
        found[function.file, function.name].append(function)
    return found


def _operator_changes(base: Executed, new: Executed) -> list[OperatorChange]:
    sides = [
        Counter({(operator.name, operator.backward): operator.calls for operator in side.operators})
        for side in (base, new)
    ]
    return [OperatorChange(*key, sides[0][key], sides[1][key]) for key in {**sides[0], **sides[1]}]
