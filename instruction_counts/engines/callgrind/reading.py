"""Reading profiles in Callgrind's text format, line by line.

A dump that was cut off has no ``totals:`` line, or an unfinished one, and is refused; so is a file
of several parts, as ``--combine-dumps=yes`` writes it.
"""

import re
from collections.abc import Callable, Iterator
from operator import length_hint
from pathlib import Path

import attrs

from instruction_counts.engines.callgrind.lines import (
    NUMBER,
    POSITION,
    CallgrindFormatError,
    Header,
    MatchCost,
    Names,
    UnexpectedError,
    instruction_column,
    instructions,
    too_early,
)
from instruction_counts.engines.callgrind.profiles import (
    UNKNOWN,
    Call,
    CallgrindProfile,
    Function,
    without_recursion,
)

_POSITION_START = frozenset("0123456789+-*")
_CALLS = re.compile(rf"[ \t]*({NUMBER})(?:[ \t]+{POSITION})+[ \t]*")
_JUMP = re.compile(rf"[ \t]*{NUMBER}(?:[/ \t]+{NUMBER})?(?:[ \t]+{POSITION})+[ \t]*")

_Key = tuple[str, str, str]


def parse(text: str) -> CallgrindProfile:
    """Read a profile that has one part."""
    return _parse(text, None)


def read(path: Path) -> CallgrindProfile:
    """Read a file that has one part."""
    return _parse(path.read_bytes().decode("utf-8", "surrogateescape"), path)


def read_totals(path: Path) -> int:
    """Read the instructions of a file that has one part, and nothing else of it."""
    content = path.read_bytes()
    offset, line = _only_line(path, content, b"events:")
    try:
        column, _ = instruction_column(line.partition(":")[2])
        offset, line = _only_line(path, content, b"totals:")
        return instructions(line.partition(":")[2], column)
    except UnexpectedError as error:
        number = content.count(b"\n", 0, offset) + 1
        raise CallgrindFormatError(path, number, line, str(error)) from error


def _only_line(path: Path, content: bytes, key: bytes) -> tuple[int, str]:
    offset = content.find(b"\n" + key) + 1
    end = content.find(b"\n", offset)
    again = content.find(b"\n" + key, end)
    if offset and end >= 0 and again < 0:
        return offset, content[offset:end].decode("utf-8", "surrogateescape")
    number = content.count(b"\n", 0, again + 1 if again >= 0 else len(content)) + 1
    line = content.split(b"\n")[number - 1].decode("utf-8", "surrogateescape")
    raise CallgrindFormatError(path, number, line, f"one complete {key.decode()} line")


def _parse(text: str, path: Path | None) -> CallgrindProfile:
    reader = _Reader.of(text)
    try:
        profile = reader.part()
        if not reader.at_end():
            raise UnexpectedError("the end of a profile of one part")
    except UnexpectedError as error:
        raise reader.located(path, str(error)) from error
    return profile


@attrs.define
class _Reader:
    """Goes through the lines once; holds the names of the file and the state of one part."""

    lines: list[str]
    rest: Iterator[str]
    objects: Names = attrs.Factory(Names)
    files: Names = attrs.Factory(Names)
    names: Names = attrs.Factory(lambda: Names(without_recursion))
    functions: dict[_Key, Function] = attrs.Factory(dict)
    header: Header = attrs.Factory(Header)
    match_cost: MatchCost = too_early
    current_object: str = UNKNOWN
    current_file: str = UNKNOWN
    current: _Key | None = None
    called_object: str | None = None
    called_file: str | None = None
    called: str | None = None
    exclusive: dict[_Key, int] = attrs.Factory(dict)
    calls: dict[tuple[_Key, _Key], list[int]] = attrs.Factory(dict)

    @classmethod
    def of(cls, text: str) -> "_Reader":
        """Start at the first line."""
        lines = text.split("\n")
        return cls(lines, iter(lines))

    def located(self, path: Path | None, expected: str) -> CallgrindFormatError:
        """Say where the reader is."""
        number = len(self.lines) - length_hint(self.rest)
        return CallgrindFormatError(path, number, self.lines[number - 1], expected)

    def part(self) -> CallgrindProfile:
        """Read up to the ``totals:`` line that ends a part."""
        takers = self._takers()
        match_cost, position_start = self.match_cost, _POSITION_START
        own = 0
        for line in self.rest:
            if line[:1] in position_start:
                cost = match_cost(line)
                if cost is None:
                    raise UnexpectedError(
                        "a cost line: positions, then at most one number for each event"
                    )
                own += int(cost[1] or 0)
                continue
            if own and self.current is not None:
                self.exclusive[self.current] = self.exclusive.get(self.current, 0) + own
                own = 0
            spec, _, name = line.partition("=")
            taker = takers.get(spec)
            if taker is not None:
                taker(name)
                match_cost = self.match_cost
            elif line.startswith("totals:"):
                return self._finished(line)
            elif line and line[0] != "#":
                self._take_header_line(line)
        raise UnexpectedError("a totals: line that ends the part")

    def at_end(self) -> bool:
        """Whether nothing follows a part but empty lines and comments."""
        return all(not line.strip() or line[0] == "#" for line in self.rest)

    def _takers(self) -> dict[str, Callable[[str], None]]:
        return {
            "ob": self._take_object,
            "fl": self._take_file,
            "fi": self._take_file,
            "fe": self._take_file,
            "fn": self._take_function,
            "cob": self._take_called_object,
            "cfl": self._take_called_file,
            "cfi": self._take_called_file,
            "cfn": self._take_called_function,
            "calls": self._take_calls,
            "jfi": self._take_jump_file,
            "jfn": self._take_jump_function,
            "jump": self._take_jump,
            "jcnd": self._take_jump,
        }

    def _take_object(self, text: str) -> None:
        self.current_object = self.objects.resolve(text)

    def _take_file(self, text: str) -> None:
        self.current_file = self.files.resolve(text)

    def _take_function(self, text: str) -> None:
        # A function that follows code inlined from its own file has no fl= line: what holds is
        # the file named last, by whichever of fl=, fi= and fe=.
        self.current = (self.current_object, self.current_file, self.names.resolve(text))
        self.match_cost = self.header.cost_matcher()

    def _take_called_object(self, text: str) -> None:
        self.called_object = self.objects.resolve(text)

    def _take_called_file(self, text: str) -> None:
        self.called_file = self.files.resolve(text)

    def _take_called_function(self, text: str) -> None:
        self.called = self.names.resolve(text)

    def _take_calls(self, text: str) -> None:
        counted = _CALLS.fullmatch(text)
        if counted is None:
            raise UnexpectedError("calls=, a number and the position of the callee")
        if self.current is None or self.called is None:
            raise UnexpectedError("an fn= and a cfn= line before calls=")
        cost = self.match_cost(next(self.rest, ""))
        if cost is None:
            raise UnexpectedError("the cost line of the call")
        callee = (
            self.called_object or self.current_object,
            self.called_file or self.current_file,
            self.called,
        )
        sums = self.calls.setdefault((self.current, callee), [0, 0])
        sums[0] += int(counted[1])
        sums[1] += int(cost[1] or 0)
        self.called_object = self.called_file = self.called = None

    def _take_jump_file(self, text: str) -> None:
        self.files.resolve(text)

    def _take_jump_function(self, text: str) -> None:
        self.names.resolve(text)

    def _take_jump(self, text: str) -> None:
        if not _JUMP.fullmatch(text):
            raise UnexpectedError("the counts of a jump and the position of its target")

    def _take_header_line(self, line: str) -> None:
        key, colon, value = line.partition(":")
        if colon and key.isidentifier() and self.current is None:
            self.header.take(key, value.strip())
        elif line.strip():
            raise UnexpectedError("a header line, a name such as fn=, a cost line or a comment")

    def _finished(self, line: str) -> CallgrindProfile:
        if not length_hint(self.rest):
            raise UnexpectedError("a line break after the totals: line")
        header = self.header
        return CallgrindProfile(
            totals=instructions(line.partition(":")[2], header.known_column()),
            exclusive={self._function(key): cost for key, cost in self.exclusive.items()},
            calls=tuple(
                Call(self._function(caller), self._function(callee), count, cost)
                for (caller, callee), (count, cost) in self.calls.items()
            ),
            creator=header.creator,
            command=header.command,
            descriptions=tuple(header.descriptions),
        )

    def _function(self, key: _Key) -> Function:
        function = self.functions.get(key)
        if function is None:
            function = self.functions[key] = Function(*key)
        return function
