"""Helpers for definition files: flattening, and Python and C++ code side by side."""

import re
import textwrap
from collections.abc import Iterator, Mapping

from instruction_counts.core.api import GroupedBenchmark, TimerArgs
from instruction_counts.core.errors import DefinitionError, quoted, require
from instruction_counts.core.types import Definition, FlatIntermediateDefinition, Label

_WIDTH = 40
_HEADER = re.compile(rf"Python\s{{{_WIDTH - 6}}} \| C\+\+\s*")
_RULE = re.compile(rf"-{{{_WIDTH}}} \| -+\s*")
_LINE = re.compile(rf"(?P<python>.{{{_WIDTH}}}) \|(?: (?P<cpp>.*))?")


def flatten(schema: Definition) -> FlatIntermediateDefinition:
    """One level of ``{label: benchmark}`` from nested mappings.

    A key is a string, a tuple of strings, or None, which adds nothing to the label.

    Raises:
        DefinitionError: a duplicate label, none at all, or a key or a value of a wrong type.
    """
    flat: FlatIntermediateDefinition = {}
    for label, value in _leaves((), schema):
        if not isinstance(value, GroupedBenchmark | TimerArgs):
            expected = (
                "GroupedStmts, GroupedModules, GroupedVariants, GroupedOnce, TimerArgs or a mapping"
            )
            raise DefinitionError("value", quoted(value), expected, label)
        if not label:
            expected = "a label: put the benchmark under a key"
            raise DefinitionError("label", "nothing", expected, label)
        if label in flat:
            raise DefinitionError("label", " / ".join(label), "a unique label", label)
        flat[label] = value
    if not flat:
        raise DefinitionError("BENCHMARKS", "no benchmark", "at least one")
    return flat


def _leaves(prefix: Label, value: object) -> Iterator[tuple[Label, object]]:
    if not isinstance(value, Mapping):
        yield prefix, value
        return
    for key, below in value.items():
        parts = key if isinstance(key, tuple) else (key,)
        names = tuple(part for part in parts if part is not None and part != "")
        if not all(isinstance(name, str) for name in names):
            expected = "a string, a tuple of strings, or None"
            raise DefinitionError("key", quoted(key), expected, prefix)
        yield from _leaves(prefix + names, below)


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
    require("parse_stmts", stmts, isinstance(stmts, str), "text in two columns")
    lines = [line.rstrip() for line in textwrap.dedent(stmts).strip("\n").rstrip().splitlines()]
    header, rule, *rows = [*lines, *[""] * (2 - len(lines))]
    expected = f'"Python{" " * (_WIDTH - 6)} | C++"'
    require("parse_stmts", header, _HEADER.fullmatch(header), expected)
    require("parse_stmts", rule, _RULE.fullmatch(rule), f"{_WIDTH} dashes, ' | ', dashes")
    return [_split(row) for row in rows]


def _split(line: str) -> tuple[str, str]:
    if not line:
        return "", ""
    match = _LINE.fullmatch(line)
    if match is None:
        expected = f'a left column of {_WIDTH} characters, then " | "'
        raise DefinitionError("parse_stmts", quoted(line, 90), expected)
    return match["python"].rstrip(), (match["cpp"] or "").rstrip()
