"""Lines of Callgrind's format: names and the numbers for them, the header, costs."""

import functools
import re
from collections.abc import Callable
from pathlib import Path

import attrs

from instruction_counts.engines.callgrind.profiles import UNKNOWN

NUMBER = r"[0-9]{1,30}"
POSITION = r"(?:\*|[+-]?(?:0x[0-9a-fA-F]+|[0-9]+))"
_COMPRESSED = re.compile(r"[ \t]*(\([0-9]+\))[ \t]*(.*)")
_LOOKS_COMPRESSED = re.compile(r"[ \t]*\([0-9]")
_SHOWN_OF_A_LINE = 200

MatchCost = Callable[[str], re.Match[str] | None]


@attrs.frozen
class CallgrindFormatError(Exception):
    """A text is not a complete profile in Callgrind's format."""

    path: Path | None
    line_number: int
    line: str
    expected: str

    def __str__(self) -> str:
        """Name the place, what is written there and what should be."""
        shown = self.line[:_SHOWN_OF_A_LINE]
        place = self.path if self.path is not None else "Callgrind profile"
        return f"{place}, line {self.line_number}: expected {self.expected}, found {shown!r}"


class UnexpectedError(Exception):
    """What the current line should have been; the reader adds the place."""


@attrs.define
class Names:
    """The numbers that stand for names; one holds from its definition to the end of the file."""

    clean: Callable[[str], str] = str
    known: dict[str, str] = attrs.Factory(dict)

    def resolve(self, text: str) -> str:
        """Give the name that the right-hand side of a line such as ``fn=(3) main`` means."""
        name = self.known.get(text)
        return self._spelled(text) if name is None else name

    def _spelled(self, text: str) -> str:
        compressed = _COMPRESSED.fullmatch(text)
        if compressed is None:
            if _LOOKS_COMPRESSED.match(text):
                raise UnexpectedError("a closing parenthesis after the number of a name")
            return self.clean(text.lstrip(" \t")) or UNKNOWN
        number, name = compressed.groups()
        if name:
            self.known[number] = self.clean(name)
        elif number not in self.known:
            raise UnexpectedError(f"the name that {number} stands for, at its first use")
        return self.known[number]


def too_early(_: str) -> None:
    """Refuse a cost line, as no function can have it yet."""
    raise UnexpectedError("an events: and an fn= line before the first cost")


@attrs.define
class Header:
    """The header lines of a part, as far as they matter."""

    creator: str = ""
    command: str = ""
    descriptions: list[tuple[str, str]] = attrs.Factory(list)
    positions: int = 1
    column: int | None = None
    events: int = 0

    def take(self, key: str, value: str) -> None:
        """Take in one header line; keys that this reader has no use for are passed over."""
        if key == "version" and value not in ("0", "1"):
            raise UnexpectedError("version 0 or 1 of the format")
        if key == "events":
            self._take_events(value)
        elif key == "positions":
            self._take_positions(value)
        elif key == "desc":
            name, _, text = value.partition(":")
            self.descriptions.append((name.strip(), text.strip()))
        elif key == "creator":
            self.creator = value
        elif key == "cmd":
            self.command = value

    def _take_events(self, value: str) -> None:
        if self.column is not None:
            raise UnexpectedError("one events: line in a part")
        self.column, self.events = instruction_column(value)

    def _take_positions(self, value: str) -> None:
        names = value.split()
        if not names or not {"instr", "bb", "line"}.issuperset(names):
            raise UnexpectedError("positions: instr, bb, line, or several of them")
        self.positions = len(names)

    def known_column(self) -> int:
        """The column of the instructions among the costs."""
        if self.column is None:
            raise UnexpectedError("an events: line first")
        return self.column

    def cost_matcher(self) -> MatchCost:
        """A match of a cost line, with the instructions as its group 1 (None: left out, so 0)."""
        return _cost_matcher(self.positions, self.known_column(), self.events)


def _number(text: str) -> int:
    if not re.fullmatch(NUMBER, text):
        raise UnexpectedError("a number")
    return int(text)


def instruction_column(text: str) -> tuple[int, int]:
    """Where the instructions stand among the events, and how many events there are."""
    names = text.split()
    if names.count("Ir") != 1:
        raise UnexpectedError("the event Ir, once, among the events")
    return names.index("Ir"), len(names)


def instructions(text: str, column: int) -> int:
    """The instructions among the costs of a part."""
    costs = [_number(field) for field in text.split()]
    if not costs:
        raise UnexpectedError("the costs of the part")
    return costs[column] if column < len(costs) else 0


@functools.lru_cache(maxsize=16)
def _cost_matcher(positions: int, column: int, events: int) -> MatchCost:
    other = rf"(?:[ \t]+{NUMBER})"
    place = rf"{POSITION}(?:[ \t]+{POSITION}){{{positions - 1}}}"
    with_instructions = rf"{other}{{{column}}}[ \t]+({NUMBER}){other}{{0,{events - column - 1}}}"
    return re.compile(rf"{place}(?:{with_instructions}|{other}{{0,{column}}})[ \t]*").fullmatch
