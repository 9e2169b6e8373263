"""Profiles in Callgrind's text format, as one dump writes them.

Costs are executed instructions (event ``Ir``) per function; positions inside a function, other
events and jumps are left out. Names keep what Callgrind wrote, except that the suffix ``'N`` of a
recursion level is removed and all levels of a function are one.

The file of a function is the one that it is defined in: the cost of code inlined into it from
another file (``fi=``, ``fe=``) counts as its own. ``callgrind_annotate`` shows such cost under
the other file, so the two agree on a function only after adding up over files.

A dump that was cut off has no ``totals:`` line, or an unfinished one, and is refused; so is a file
of several parts, as ``--combine-dumps=yes`` writes it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from operator import length_hint
from pathlib import Path
from typing import TypeAlias

import attrs

_UNKNOWN = "???"
"""What Callgrind writes for an object or a file that it does not know."""
_NUMBER = "[0-9]{1,30}"
_POSITION = r"(?:\*|[+-]?(?:0x[0-9a-fA-F]+|[0-9]+))"
_POSITION_START = frozenset("0123456789+-*")
_CALLS = re.compile(rf"({_NUMBER})(?: {_POSITION})+ *")
_COMPRESSED = re.compile(r"(\([0-9]+\)) ?(.*)")
_RECURSION = re.compile(r"(?<=.)(?:'[0-9]+)+\Z")
_TOTALS = re.compile(rf"totals: ({_NUMBER})(?: {_NUMBER})*\n\s*")
_NAMES = {
    "ob": ("object", "object"),
    "fl": ("file", "file"),
    "fi": ("file", "file"),
    "fe": ("file", "file"),
    "fn": ("function", "function"),
    "cob": ("object", "called object"),
    "cfl": ("file", "called file"),
    "cfi": ("file", "called file"),
    "cfn": ("function", "called function"),
    "jfi": ("file", "jump"),
    "jfn": ("function", "jump"),
}
"""What a line names: the kind, whose numbers are its own, and what it is named as."""


class CallgrindFormatError(Exception):
    """A file is not a complete profile in Callgrind's format; the message says where."""


@attrs.frozen(order=True, cache_hash=True)
class Function:
    """A function, all its recursion levels together."""

    object_name: str
    """The whole path of the ELF object."""
    file: str
    """The source file of the definition, ``???`` where unknown."""
    name: str
    """Without the suffix of a recursion level."""

    @property
    def library(self) -> str:
        """The base name of the object."""
        return self.object_name.rpartition("/")[2] or self.object_name


Edge: TypeAlias = tuple[Function, Function]
"""A caller and its callee."""
Calls: TypeAlias = tuple[int, int]
"""How often, and the instructions of the callee with everything below it."""


@attrs.frozen
class CallgrindProfile:
    """What a dump says."""

    totals: int
    """From ``totals:``, the sum of all cost lines."""
    exclusive: Mapping[Function, int]
    """Instructions of each function itself; a function without any is left out."""
    calls: Mapping[Edge, Calls] = attrs.field(factory=dict)


def read(path: Path) -> CallgrindProfile:
    """Read a file that has one part.

    Raises:
        CallgrindFormatError: it is damaged, or no such file.
        OSError: it cannot be read.
    """
    reader = _Reader(path.read_bytes().decode("utf-8", "surrogateescape").split("\n"))
    try:
        return reader.profile()
    except _UnexpectedError as error:
        number, line = reader.place
        message = f"{path}, line {number}: expected {error}, found {line[:200]!r}"
        raise CallgrindFormatError(message) from error


def read_totals(path: Path) -> int:
    """Read the instructions of a file that has one part, and nothing else of it; raises as `read`.

    It is asked for each window of a case, and most dumps have some ten thousand lines.
    """
    content = path.read_bytes()
    last = content[content.find(b"\ntotals:") + 1 :].decode(errors="replace")
    found = _TOTALS.fullmatch(last)
    if found is None or b"\nevents: Ir" not in content:
        message = f"{path}: expected an events: line with Ir first, and one complete totals: line"
        raise CallgrindFormatError(message)
    return int(found[1])


_MatchCost: TypeAlias = Callable[[str], re.Match[str] | None]


class _UnexpectedError(Exception):
    """What the current line should have been."""


def _too_early(_: str) -> re.Match[str] | None:
    raise _UnexpectedError("an events: and an fn= line before the first cost")


class _Reader:
    """Goes through the lines once."""

    def __init__(self, lines: list[str]) -> None:
        self._lines, self._rest = lines, iter(lines)
        self._known: dict[tuple[str, str], str] = {}
        self._named: dict[str, str] = {}
        self._functions: dict[tuple[str, str, str], Function] = {}
        self._current: Function | None = None
        self._positions = 1
        self._match_cost: _MatchCost = _too_early
        self._cost_line: _MatchCost = _too_early
        self._exclusive: dict[Function, int] = {}
        self._calls: dict[Edge, Calls] = {}

    @property
    def place(self) -> tuple[int, str]:
        """The number of the current line, and the line."""
        number = len(self._lines) - length_hint(self._rest)
        return number, self._lines[number - 1]

    def profile(self) -> CallgrindProfile:
        """Read up to the ``totals:`` line, after which nothing follows."""
        match_cost, own = self._match_cost, 0
        for line in self._rest:
            if line[:1] in _POSITION_START:
                cost = match_cost(line)
                if cost is None:
                    raise _UnexpectedError("a cost line: positions, then numbers")
                own += int(cost[1] or 0)
                continue
            if own and self._current is not None:
                self._exclusive[self._current] = self._exclusive.get(self._current, 0) + own
                own = 0
            key, _, text = line.partition("=")
            if key in _NAMES:
                self._take_name(*_NAMES[key], text)
                match_cost = self._match_cost
            elif key == "calls":
                self._take_calls(text)
            elif line.startswith("totals:"):
                return self._finished(line)
            elif line and line[0] != "#" and key not in {"jump", "jcnd"}:
                self._take_header(line)
        raise _UnexpectedError("a totals: line that ends the part")

    def _take_name(self, kind: str, role: str, text: str) -> None:
        self._named[role] = self._name(kind, text)
        if role == "function":
            # A function that follows code inlined from its own file has no fl= line: what holds is
            # the file named last, by whichever of fl=, fi= and fe=.
            self._current = self._function("")
            self._match_cost = self._cost_line

    def _name(self, kind: str, text: str) -> str:
        known = self._known.get((kind, text))
        if known is not None:
            return known
        compressed = _COMPRESSED.fullmatch(text)
        number, name = compressed.groups() if compressed else ("", text)
        if number and not name:
            raise _UnexpectedError(f"the name that {number} stands for, at its first use")
        name = (_RECURSION.sub("", name) if kind == "function" else name) or _UNKNOWN
        if number:
            self._known[kind, number] = name
        return name

    def _function(self, called: str) -> Function:
        named = self._named
        key = (
            named.get(f"{called}object") or named.get("object", _UNKNOWN),
            named.get(f"{called}file") or named.get("file", _UNKNOWN),
            named[f"{called}function"],
        )
        function = self._functions.get(key)
        if function is None:
            function = self._functions[key] = Function(*key)
        return function

    def _take_calls(self, text: str) -> None:
        counted = _CALLS.fullmatch(text)
        if counted is None or self._current is None or "called function" not in self._named:
            raise _UnexpectedError("fn=, cfn=, then calls= with a number and a position")
        cost = self._match_cost(next(self._rest, ""))
        if cost is None:
            raise _UnexpectedError("the cost line of the call")
        edge = self._current, self._function("called ")
        calls, instructions = self._calls.get(edge, (0, 0))
        self._calls[edge] = calls + int(counted[1]), instructions + int(cost[1] or 0)
        for what in ("called object", "called file", "called function"):
            self._named.pop(what, None)

    def _take_header(self, line: str) -> None:
        key, colon, value = line.partition(":")
        if line.strip() and not (colon and key.isidentifier() and self._current is None):
            raise _UnexpectedError("a header line, a name such as fn=, a cost line or a comment")
        if key == "positions":
            self._positions = max(1, len(value.split()))
        elif key == "events":
            if value.split()[:1] != ["Ir"]:
                raise _UnexpectedError("the event Ir first")
            places = f"{_POSITION}(?: {_POSITION}){{{self._positions - 1}}}"
            costs = f"(?: ({_NUMBER})(?: {_NUMBER})*)? *"
            self._cost_line = re.compile(f"{places}{costs}").fullmatch

    def _finished(self, line: str) -> CallgrindProfile:
        found = _TOTALS.fullmatch("\n".join([line, *self._rest]))
        if found is None:
            raise _UnexpectedError("one complete totals: line at the end")
        return CallgrindProfile(int(found[1]), self._exclusive, self._calls)
