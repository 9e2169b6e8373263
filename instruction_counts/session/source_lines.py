"""The lines of the Python functions that changed, from the files of the builds that executed them.

Nothing is imported: a process of this interpreter parses the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import PurePosixPath
from typing import Any, TypeAlias

import attrs

from instruction_counts.analysis.attribution.causes import executed_changes
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.builds.inquiry import inquire
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.build import default_build
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.executed import Executed, PythonFunction
from instruction_counts.domain.source_lines import SourceChange, SourceLines

Ask: TypeAlias = Callable[[Mapping[str, Any]], Mapping[str, Any]]
"""Asks for functions in files: the request and the answer of ``worker/source_lines.py``."""


def ask_worker(request: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a process of this interpreter finds.

    Raises:
        BuildError: it does not answer.
    """
    return inquire(default_build(), "find", request)


def source_changes(
    key: CaseKey, base: Side, new: Side, ask: Ask = ask_worker
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
    asked = []
    for change in changes:
        old, now = _functions(change, before), _functions(change, after)
        asked.append(_Asked.of("base", base, before, _first_unlike(old, now)))
        asked.append(_Asked.of("new", new, after, _first_unlike(now, old)))
    found = _answered(asked, ask)
    return tuple(
        SourceChange(
            *(change.where, change.name, lines[0], lines[1]),
            remarks=tuple(remark for remark in remarks if remark),
        )
        for change, (lines, remarks) in zip(changes, _in_pairs(found), strict=True)
    )


def _functions(change: Cause, executed: Executed) -> list[PythonFunction]:
    called = change.where, change.name
    return [
        function
        for function in executed.functions or ()
        if (function.file, function.name) == called
    ]


def _first_unlike(
    mine: Iterable[PythonFunction], theirs: Iterable[PythonFunction]
) -> PythonFunction | None:
    known = {function.digest for function in theirs}
    return next((function for function in mine if function.digest not in known), None)


@attrs.frozen
class _Asked:
    """A function of one side, to be looked for."""

    role: str
    folder: str
    python: str
    function: PythonFunction | None
    """None where that side does not execute it."""

    @classmethod
    def of(
        cls, role: str, side: Side, executed: Executed, function: PythonFunction | None
    ) -> _Asked:
        return cls(role, side.package_folder, executed.python, function)

    @property
    def path(self) -> str:
        """Its file; empty where it has none, or nobody knows where that lies."""
        if self.function is None or not self.function.line or not self.folder:
            return ""
        file = PurePosixPath(self.function.file)
        is_below = not file.is_absolute() and ".." not in file.parts
        return str(PurePosixPath(self.folder) / file) if is_below else ""

    def found(self, answer: Mapping[str, Any] | None, python: str) -> _Found:
        """Its lines, or a remark on them; ``python`` is whose digests the answer has."""
        if self.function is None:
            return None, ""
        place = f"{self.role}: {self.path or self.function.file}"
        if answer is None:
            where = "where it lies is not known" if self.function.line else "no file holds it"
            return None, f"{place}: {where}"
        if "problem" in answer:
            return None, f"{place} {_PROBLEMS[answer['problem']]}"
        is_comparable = python == self.python
        if is_comparable and self.function.digest not in answer["digests"]:
            return None, f"{place} {_PROBLEMS['changed']}"
        lines = SourceLines(self.function.line, tuple(answer["lines"]), is_comparable)
        unchecked = f"{place} may have changed since the run: Python {self.python} is not here"
        return lines, "" if is_comparable else unchecked


_PROBLEMS = {"gone": "is gone", "changed": "has changed since the run"}

_Found: TypeAlias = tuple[SourceLines | None, str]


def _answered(asked: list[_Asked], ask: Ask) -> list[_Found]:
    findable = [item for item in asked if item.path and item.function is not None]
    request = [
        {"path": item.path, "line": item.function.line, "name": item.function.name}
        for item in findable
        if item.function is not None
    ]
    answer = ask({"functions": request}) if request else {"python": "", "functions": ()}
    answers = dict(zip(map(id, findable), answer["functions"], strict=True))
    python = str(answer["python"])
    return [item.found(answers.get(id(item)), python) for item in asked]


def _in_pairs(
    found: list[_Found],
) -> Iterable[tuple[tuple[SourceLines | None, ...], tuple[str, ...]]]:
    for place in range(0, len(found), 2):
        lines, remarks = zip(*found[place : place + 2], strict=True)
        yield lines, remarks
