"""Where the instructions of a case go: on one side, or from one side to another.

The lines of Python functions that changed come from the files of the builds that executed them.
Nothing is imported: a process of this interpreter parses the files.
"""

import shlex
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any

import attrs

from instruction_counts.analysis.attribution.causes import executed_changes
from instruction_counts.analysis.attribution.functions import FunctionDifference, difference
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.builds.probing import inquire
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.executed import Executed, PythonFunction, SourceChange, SourceLines
from instruction_counts.domain.outcomes import FunctionCosts, Status
from instruction_counts.domain.selection import Selection, only_key, select_keys


@attrs.frozen
class Explained:
    """One case that was counted on each of one or two sides, with the costs of its functions."""

    key: CaseKey
    sides: tuple[Side, ...]
    difference: FunctionDifference
    """From the first side to the second; of a single one, from nothing to all that it spends."""

    @property
    def cycles(self) -> FunctionDifference | None:
        """The same of estimated cycles; None unless each side has them, on the same machine."""
        outcomes = [side.records[self.key].outcome for side in self.sides]
        machines = {outcome.cycles and outcome.cycles.machine for outcome in outcomes}
        *base, new = (outcome.cycle_costs for outcome in outcomes)
        if len(machines) > 1 or None in {*base, new}:
            return None
        return difference(base[0] if base else None, new, with_calls=False)

    def require(self, sections: Collection[str]) -> None:
        """Refuse sections that a user asked for by name, and of which nothing is known.

        Raises:
            UsageError: a side has no estimated cycles, or none that compare, or is not on CUDA, or
                nothing is known of its Python.
        """
        found = [(side.title, side.records[self.key].outcome) for side in self.sides]
        python = [at for at, of in found if of.executed is None or of.executed.bytecodes is None]
        cycles = [title for title, of in found if of.cycle_costs is None]
        cuda = [title for title, of in found if of.executed is None or of.executed.cuda is None]
        if "cycles" in sections and cycles:
            problem = f"{self.key.title} has no estimated cycles in {' and '.join(cycles)}"
            raise UsageError(problem, "Measure it with --metrics cycles.")
        if "cycles" in sections and self.cycles is None:
            problem = f"{self.key.title}: the cycles are those of different machines"
            raise UsageError(problem, "Measure both with the same --machine.")
        if "cuda" in sections and cuda:
            problem = f"{self.key.title} has no calls of CUDA in {' and '.join(cuda)}"
            raise UsageError(problem, "Choose a case whose tensors are on CUDA, or drop --by cuda.")
        if "python" in sections and python:
            problem = f"{self.key.title} has no Python functions in {' and '.join(python)}"
            raise UsageError(problem, "Choose a case in Python, or drop --by python.")


def explain_sides(sides: Sequence[Side], selection: Selection) -> Explained:
    """Where the instructions of the one selected case go, on one side or between two.

    The sides that come back hold the details of that case.

    Raises:
        UsageError: no case is selected, or several are; or a side has no count of it.
    """
    known = dict.fromkeys(key for side in sides for key in side.records)
    where = " or ".join(side.title for side in sides)
    key = only_key(select_keys(known, selection, where), selection)
    sides = [_completed(side, key, sides) for side in sides]
    costs = [_costs(key, side) for side in sides]
    base = costs[0] if len(costs) > 1 else None
    return Explained(key, tuple(sides), difference(base, costs[-1]))


def _completed(side: Side, key: CaseKey, sides: Sequence[Side]) -> Side:
    record = side.records.get(key)
    if record is None:
        other = next(side for side in sides if key in side.records)
        raise UsageError(
            f"{key.title} is in {other.title}, and not in {side.title}",
            "Measure it with both builds:",
            f"run --only {shlex.quote(key.path)}",
        )
    return attrs.evolve(side, records={**side.records, key: record.completed})


def _costs(key: CaseKey, side: Side) -> FunctionCosts:
    outcome = side.records[key].outcome
    if outcome.status is not Status.OK:
        why = f": {outcome.failure.summary}" if outcome.failure is not None else ""
        raise UsageError(
            f"{key.title} has no count in {side.title}: {outcome.status.value}{why}",
            "Choose another case, or measure it again.",
        )
    if outcome.instructions is None or outcome.functions is None:
        raise UsageError(
            f"{key.title} was not counted in {side.title}", "Measure it again, without --no-counts."
        )
    return outcome.functions


# Source


def source_changes(
    key: CaseKey,
    base: Side,
    new: Side,
    ask: Callable[[Build, str, Mapping[str, Any]], Mapping[str, Any]] = inquire,
) -> tuple[SourceChange, ...]:
    """The functions that were edited or that one side alone executes, the largest change first.

    The sides hold the details of the case. What is merely called more or less often is left out.
    """
    before, after = (side.records[key].outcome.executed for side in (base, new))
    if before is None or after is None:
        return ()
    changes = [
        change
        for change in executed_changes(before, after)
        if change.kind is CauseKind.PYTHON and (change.edited or not (change.base and change.new))
    ]
    sides = ("base", base, before, after), ("new", new, after, before)
    wanted = [
        (role, _path(side.package_folder, function), function)
        for change in changes
        for role, side, mine, theirs in sides
        for function in (_own(change, mine, theirs),)
    ]
    asked = [
        {"path": path, **attrs.asdict(function)}
        for _, path, function in wanted
        if path and function is not None
    ]
    answer: Mapping[str, Any] = {"functions": ()}
    if asked:  # see worker/source_lines.py
        answer = ask(default_build(), "find", {"functions": asked})
    answers = iter(answer["functions"])
    # Changes are of one Python on both sides; digests of another one are others.
    unchecked = "" if answer.get("python") == before.python else before.python
    found = [_lines(*each, next(answers) if each[1] else None, unchecked) for each in wanted]
    return tuple(
        SourceChange(
            *(change.where, change.name, of_base[0], of_new[0]),
            remarks=tuple(remark for _, remark in (of_base, of_new) if remark),
        )
        for change, of_base, of_new in zip(changes, found[::2], found[1::2], strict=True)
    )


def _own(change: Cause, mine: Executed, theirs: Executed) -> PythonFunction | None:
    """The first function of that name that one side executes, and not the other."""
    known = {function.digest for function in _called(change, theirs)}
    return next((found for found in _called(change, mine) if found.digest not in known), None)


def _called(change: Cause, executed: Executed) -> Iterator[PythonFunction]:
    for function in executed.functions or ():
        if (function.file, function.name) == (change.where, change.name):
            yield function


def _path(folder: str, function: PythonFunction | None) -> str:
    """Its file below that of the packages; empty where it has none, or nobody knows where."""
    if function is None or not function.line or not folder:
        return ""
    file = PurePosixPath(function.file)
    is_below = not file.is_absolute() and ".." not in file.parts
    return str(PurePosixPath(folder) / file) if is_below else ""


def _lines(
    role: str,
    path: str,
    function: PythonFunction | None,
    answer: Mapping[str, Any] | None,
    unchecked: str,
) -> tuple[SourceLines | None, str]:
    """The lines of a function of one side, where it executes that, and a remark on them.

    ``unchecked`` is a Python whose digests are unknown.
    """
    if function is None:
        return None, ""
    place = f"{role}: {path or function.file}"
    if answer is None:
        where = "its place is not known" if function.line else "it is in no file"
        return None, f"{place}: {where}"
    problem = answer.get("problem")
    if problem == "gone":
        # It may lie in another folder of packages, which no run knows.
        return None, f"{place} is not there, and no import finds what was executed"
    if problem or not (unchecked or function.digest in answer["digests"]):
        return None, f"{place} has changed since the run"
    remark = f"{place} may have changed since the run: Python {unchecked} is not here"
    lines = SourceLines(function.line, tuple(answer["lines"]), not unchecked)
    return lines, remark if unchecked else ""
