"""Helpers for definition files: flattening, and Python and C++ code side by side."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping

import attrs

from instruction_counts.core.api import GroupedBenchmark, TimerArgs
from instruction_counts.core.errors import (
    Broken,
    BrokenText,
    DefinitionError,
    DefinitionErrors,
    deferrable,
    quoted,
)
from instruction_counts.core.types import Definition, FlatIntermediateDefinition, Label

_WIDTH = 40
_HEADER = re.compile(rf"Python\s{{{_WIDTH - 6}}} \| C\+\+\s*")
_RULE = re.compile(rf"-{{{_WIDTH}}} \| -+\s*")
_LINE = re.compile(rf"(?P<python>.{{{_WIDTH}}}) \|(?: (?P<cpp>.*))?")


def flatten(schema: Definition) -> FlatIntermediateDefinition:
    """One level of ``{label: benchmark}`` from nested mappings.

    A key is a string, a tuple of strings, or None, which adds nothing to the label.

    Raises:
        DefinitionError: one mistake: a duplicate label, a key or a value of a wrong type.
        DefinitionErrors: several.
    """
    flat: FlatIntermediateDefinition = {}
    errors: list[DefinitionError] = []
    for label, value in _leaves((), schema):
        error = _mistake(label, value, flat)
        if error is not None:
            errors.append(error)
        else:
            flat[label] = value  # type: ignore[assignment] # _mistake accepts nothing else
    if not flat and not errors:
        errors.append(DefinitionError("BENCHMARKS", "no benchmark", "at least one"))
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise DefinitionErrors(tuple(errors))
    return flat


def _leaves(prefix: Label, value: object) -> Iterator[tuple[Label, object]]:
    if not isinstance(value, Mapping):
        yield prefix, value
        return
    for key, below in value.items():
        parts = key if isinstance(key, tuple) else (key,)
        names = tuple(part for part in parts if part is not None and part != "")
        if all(isinstance(name, str) for name in names):
            yield from _leaves(prefix + names, below)
        else:
            error = DefinitionError("key", quoted(key), "a string, a tuple of strings, or None")
            yield prefix, Broken(error)


def _mistake(
    label: Label, value: object, flat: FlatIntermediateDefinition
) -> DefinitionError | None:
    if isinstance(value, Broken):
        return attrs.evolve(value.error, label=label)
    if not isinstance(value, GroupedBenchmark | TimerArgs):
        expected = "GroupedStmts, GroupedModules, GroupedVariants, TimerArgs or a mapping of these"
        return DefinitionError("value", quoted(value), expected, label)
    if isinstance(value, TimerArgs):
        try:
            value.check()
        except DefinitionError as error:
            return attrs.evolve(error, label=label)
    if not label:
        return DefinitionError("label", "nothing", "a label: put the benchmark under a key", label)
    if label in flat:
        return DefinitionError("label", " / ".join(label), "a unique label", label)
    return None


@deferrable(lambda error: (BrokenText.of(error), BrokenText.of(error)))
def parse_stmts(stmts: str) -> tuple[str, str]:
    """The Python and the C++ code of a text with two columns.

    The left column is 40 wide, the columns are parted by ``" | "``, and the text begins with the
    header ``Python | C++`` and a line of dashes.

    Raises:
        DefinitionError: a line has another form.
    """
    rows = _rows(stmts)
    python, cpp = zip(*rows, strict=True) if rows else ((), ())
    return "\n".join(python), "\n".join(cpp)


def iter_parsed_lines(stmts: str) -> Iterator[tuple[str, str]]:
    """The pairs of a two-column text (see `parse_stmts`), stripped, line by line.

    Raises:
        DefinitionError: a line has another form.
    """
    for python, cpp in _rows(stmts):
        yield python.strip(), cpp.strip()


def _rows(stmts: str) -> list[tuple[str, str]]:
    if not isinstance(stmts, str):
        raise DefinitionError("parse_stmts", quoted(stmts), "text in two columns")
    lines = [line.rstrip() for line in textwrap.dedent(stmts).strip("\n").rstrip().splitlines()]
    header = f'"Python{" " * (_WIDTH - 6)} | C++"'
    if not lines or _HEADER.fullmatch(lines[0]) is None:
        raise DefinitionError("parse_stmts", quoted(lines[0] if lines else ""), header)
    if len(lines) < 2 or _RULE.fullmatch(lines[1]) is None:
        found = lines[1] if len(lines) > 1 else ""
        raise DefinitionError("parse_stmts", quoted(found), f"{_WIDTH} dashes, ' | ', dashes")
    return [_split(line) for line in lines[2:]]


def _split(line: str) -> tuple[str, str]:
    if not line:
        return "", ""
    match = _LINE.fullmatch(line)
    if match is None:
        expected = f'a left column of {_WIDTH} characters, then " | "'
        raise DefinitionError("parse_stmts", quoted(line, 90), expected)
    return match["python"].rstrip(), (match["cpp"] or "").rstrip()
