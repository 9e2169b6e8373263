"""Reading and writing profiles in Callgrind's text format.

Costs are executed instructions (event ``Ir``) per function; positions inside a function, other
events and jumps are read past. Names keep what Callgrind wrote, except that the suffix ``'N`` of a
recursion level is removed and all levels of a function are one.

The file of a function is the one that it is defined in: the cost of code inlined into it from
another file (``fi=``, ``fe=``) counts as its own. ``callgrind_annotate`` shows such cost under
the other file, so the two agree on a function only after adding up over files.

A dump that was cut off has no ``totals:`` line, or an unfinished one, and is refused.

Imports nothing from the rest of the package.
"""

import functools
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import groupby, pairwise
from operator import attrgetter, length_hint
from pathlib import Path

import attrs

UNKNOWN = "???"
"""What Callgrind writes for an object or a file that it does not know."""

_NUMBER = r"[0-9]{1,30}"
_POSITION = r"(?:\*|[+-]?(?:0x[0-9a-fA-F]+|[0-9]+))"
_POSITION_START = frozenset("0123456789+-*")
_CALLS = re.compile(rf"[ \t]*({_NUMBER})(?:[ \t]+{_POSITION})+[ \t]*")
_JUMP = re.compile(rf"[ \t]*{_NUMBER}(?:[/ \t]+{_NUMBER})?(?:[ \t]+{_POSITION})+[ \t]*")
_COMPRESSED = re.compile(r"[ \t]*(\([0-9]+\))[ \t]*(.*)")
_LOOKS_COMPRESSED = re.compile(r"[ \t]*\([0-9]")
_RECURSION = re.compile(r"(?<=.)(?:'[0-9]+)+\Z")
_BARE_ADDRESS = re.compile(r"0x[0-9a-fA-F]+")
_SHOWN_OF_A_LINE = 200

_Key = tuple[str, str, str]
_MatchCost = Callable[[str], re.Match[str] | None]


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


class _UnexpectedError(Exception):
    """What the current line should have been; the reader adds the place."""


def normalised(name: str) -> str:
    """Replace a bare address, the name of a function in a stripped object, by ``???``."""
    return UNKNOWN if _BARE_ADDRESS.fullmatch(name) else name


def _without_recursion(name: str) -> str:
    return _RECURSION.sub("", name)


# ---------------------------------------------------------------------------------- values


def _one_line(_: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    if "\n" in value or value != value.strip():
        raise ValueError(
            f"{attribute.name} must be one line without spaces around it, not {value!r}"
        )


def _position_name(_: object, attribute: "attrs.Attribute[str]", value: str) -> None:
    if not value or "\n" in value or value[0] in " \t":
        raise ValueError(
            f"{attribute.name} must be one line that starts with its text, not {value!r}"
        )


def _no_recursion_suffix(_: object, __: "attrs.Attribute[str]", value: str) -> None:
    if value != _without_recursion(value):
        raise ValueError(f"name must not carry the suffix of a recursion level, unlike {value!r}")


@attrs.frozen(order=True, cache_hash=True)
class Function:
    """A function, all its recursion levels together."""

    object_name: str = attrs.field(validator=_position_name)
    """The whole path of the ELF object."""
    file: str = attrs.field(validator=_position_name)
    """The source file of the definition, ``???`` where unknown."""
    name: str = attrs.field(validator=[_position_name, _no_recursion_suffix])

    @property
    def library(self) -> str:
        """The base name of the object."""
        return self.object_name.rpartition("/")[2] or self.object_name


@attrs.frozen
class Call:
    """All calls from one function to another."""

    caller: Function
    callee: Function
    calls: int = attrs.field(validator=attrs.validators.ge(0))
    instructions: int = attrs.field(validator=attrs.validators.ge(0))
    """Inclusive: of the callee and of everything below it."""


def _sort_key(call: Call) -> tuple[str, ...]:
    caller, callee = call.caller, call.callee
    return (
        *(caller.object_name, caller.file, caller.name),
        *(callee.object_name, callee.file, callee.name),
    )


def _sorted_calls(calls: tuple[Call, ...]) -> tuple[Call, ...]:
    return tuple(sorted(calls, key=_sort_key))


def _distinct_pairs(_: object, __: object, calls: tuple[Call, ...]) -> None:
    for call, following in pairwise(calls):
        if call.caller == following.caller and call.callee == following.callee:
            raise ValueError(f"calls must be summed per caller and callee, unlike {call.callee}")


def _without_zeros(costs: Mapping[Function, int]) -> dict[Function, int]:
    return {function: cost for function, cost in costs.items() if cost}


def _no_negative_cost(_: object, __: object, costs: Mapping[Function, int]) -> None:
    if any(cost < 0 for cost in costs.values()):
        raise ValueError("exclusive costs must not be negative")


def _pairs_of_lines(_: object, __: object, pairs: tuple[tuple[str, str], ...]) -> None:
    for key, value in pairs:
        if ":" in key or "\n" in key + value or (key, value) != (key.strip(), value.strip()):
            raise ValueError(
                f"a description must be a key without colon and a line, not {(key, value)!r}"
            )


_optional_number = attrs.validators.optional(attrs.validators.ge(0))


@attrs.frozen
class Profile:
    """One part of a profile: usually one file, written by one dump."""

    totals: int = attrs.field(validator=attrs.validators.ge(0))
    """From ``totals:``, the sum of all cost lines; ``summary:`` may hold more."""
    exclusive: Mapping[Function, int] = attrs.field(
        converter=_without_zeros, validator=_no_negative_cost
    )
    """Instructions of each function itself; a function without any is left out."""
    calls: tuple[Call, ...] = attrs.field(
        default=(), converter=_sorted_calls, validator=_distinct_pairs
    )
    """Sorted by caller, then callee."""
    creator: str = attrs.field(default="", validator=_one_line)
    command: str = attrs.field(default="", validator=_one_line)
    pid: int | None = attrs.field(default=None, validator=_optional_number)
    thread: int | None = attrs.field(default=None, validator=_optional_number)
    part: int | None = attrs.field(default=None, validator=_optional_number)
    descriptions: tuple[tuple[str, str], ...] = attrs.field(default=(), validator=_pairs_of_lines)
    """The ``desc:`` lines in order, such as ``("Trigger", "Program termination")``."""

    @property
    def trigger(self) -> str | None:
        """Why the part was written, such as ``Client Request: window 3``."""
        return dict(self.descriptions).get("Trigger")

    @property
    def unattributed(self) -> int:
        """What the totals hold beyond the sum over functions; 0 in a consistent profile."""
        return self.totals - sum(self.exclusive.values())


# --------------------------------------------------------------------------------- reading


def parse(text: str) -> Profile:
    """Read a profile that has one part."""
    return _parse(text, None)


def parse_parts(text: str) -> tuple[Profile, ...]:
    """Read a profile of one part or more, as ``--combine-dumps=yes`` writes them."""
    reader = _Reader.of(text)
    try:
        parts = [reader.part()]
        while reader.skip_to_next_part():
            parts.append(reader.part())
    except _UnexpectedError as error:
        raise reader.located(None, str(error)) from error
    return tuple(parts)


def read(path: Path) -> Profile:
    """Read a file that has one part."""
    return _parse(path.read_bytes().decode("utf-8", "surrogateescape"), path)


def read_totals(path: Path) -> int:
    """Read the instructions of a file that has one part, and nothing else of it."""
    content = path.read_bytes()
    offset, line = _only_line(path, content, b"events:")
    try:
        column, _ = _instruction_column(line.partition(":")[2])
        offset, line = _only_line(path, content, b"totals:")
        return _instructions(line.partition(":")[2], column)
    except _UnexpectedError as error:
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


def _parse(text: str, path: Path | None) -> Profile:
    reader = _Reader.of(text)
    try:
        profile = reader.part()
        if reader.skip_to_next_part():
            raise _UnexpectedError("the end of a profile of one part")
    except _UnexpectedError as error:
        raise reader.located(path, str(error)) from error
    return profile


@attrs.define
class _Names:
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
                raise _UnexpectedError("a closing parenthesis after the number of a name")
            return self.clean(text.lstrip(" \t")) or UNKNOWN
        number, name = compressed.groups()
        if name:
            self.known[number] = self.clean(name)
        elif number not in self.known:
            raise _UnexpectedError(f"the name that {number} stands for, at its first use")
        return self.known[number]


def _too_early(_: str) -> None:
    raise _UnexpectedError("an events: and an fn= line before the first cost")


@attrs.define
class _Header:
    """The header lines of a part, as far as they matter."""

    creator: str = ""
    command: str = ""
    pid: int | None = None
    thread: int | None = None
    part: int | None = None
    descriptions: list[tuple[str, str]] = attrs.Factory(list)
    positions: int = 1
    column: int | None = None
    events: int = 0

    def next_part(self) -> "_Header":
        """What the next part inherits; the rest it says itself."""
        return _Header(self.creator, self.command, self.pid, positions=self.positions)

    def take(self, key: str, value: str) -> None:
        """Take in one header line; keys that this reader has no use for are passed over."""
        if key == "version" and value not in ("0", "1"):
            raise _UnexpectedError("version 0 or 1 of the format")
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
        elif key in ("pid", "thread", "part"):
            setattr(self, key, _number(value))

    def _take_events(self, value: str) -> None:
        if self.column is not None:
            raise _UnexpectedError("one events: line in a part")
        self.column, self.events = _instruction_column(value)

    def _take_positions(self, value: str) -> None:
        names = value.split()
        if not names or not {"instr", "bb", "line"}.issuperset(names):
            raise _UnexpectedError("positions: instr, bb, line, or several of them")
        self.positions = len(names)

    def known_column(self) -> int:
        """The column of the instructions among the costs."""
        if self.column is None:
            raise _UnexpectedError("an events: line first")
        return self.column

    def cost_matcher(self) -> _MatchCost:
        """A match of a cost line, with the instructions as its group 1 (None: left out, so 0)."""
        return _cost_matcher(self.positions, self.known_column(), self.events)


def _number(text: str) -> int:
    if not re.fullmatch(_NUMBER, text):
        raise _UnexpectedError("a number")
    return int(text)


def _instruction_column(text: str) -> tuple[int, int]:
    names = text.split()
    if names.count("Ir") != 1:
        raise _UnexpectedError("the event Ir, once, among the events")
    return names.index("Ir"), len(names)


def _instructions(text: str, column: int) -> int:
    costs = [_number(field) for field in text.split()]
    if not costs:
        raise _UnexpectedError("the costs of the part")
    return costs[column] if column < len(costs) else 0


@functools.lru_cache(maxsize=16)
def _cost_matcher(positions: int, column: int, events: int) -> _MatchCost:
    other = rf"(?:[ \t]+{_NUMBER})"
    place = rf"{_POSITION}(?:[ \t]+{_POSITION}){{{positions - 1}}}"
    with_instructions = rf"{other}{{{column}}}[ \t]+({_NUMBER}){other}{{0,{events - column - 1}}}"
    return re.compile(rf"{place}(?:{with_instructions}|{other}{{0,{column}}})[ \t]*").fullmatch


@attrs.define
class _Reader:
    """Goes through the lines once; holds the names of the file and the state of one part."""

    lines: list[str]
    rest: Iterator[str]
    objects: _Names = attrs.Factory(_Names)
    files: _Names = attrs.Factory(_Names)
    names: _Names = attrs.Factory(lambda: _Names(_without_recursion))
    functions: dict[_Key, Function] = attrs.Factory(dict)
    header: _Header = attrs.Factory(_Header)
    match_cost: _MatchCost = _too_early
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

    def part(self) -> Profile:
        """Read up to the ``totals:`` line that ends a part."""
        takers = self._takers()
        match_cost, position_start = self.match_cost, _POSITION_START
        own = 0
        for line in self.rest:
            if line[:1] in position_start:
                cost = match_cost(line)
                if cost is None:
                    raise _UnexpectedError(
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
        raise _UnexpectedError("a totals: line that ends the part")

    def skip_to_next_part(self) -> bool:
        """Pass over what may follow a part, and say whether another one begins."""
        for line in self.rest:
            if line.strip() and line[0] != "#":
                self._start_part(line)
                return True
        return False

    def _start_part(self, first_line: str) -> None:
        self.header = self.header.next_part()
        self.match_cost = _too_early
        self.current_object = self.current_file = UNKNOWN
        self.current = None
        self.called_object = self.called_file = self.called = None
        self.exclusive, self.calls = {}, {}
        self._take_header_line(first_line)

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
            raise _UnexpectedError("calls=, a number and the position of the callee")
        if self.current is None or self.called is None:
            raise _UnexpectedError("an fn= and a cfn= line before calls=")
        cost = self.match_cost(next(self.rest, ""))
        if cost is None:
            raise _UnexpectedError("the cost line of the call")
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
            raise _UnexpectedError("the counts of a jump and the position of its target")

    def _take_header_line(self, line: str) -> None:
        key, colon, value = line.partition(":")
        if colon and key.isidentifier() and self.current is None:
            self.header.take(key, value.strip())
        elif line.strip():
            raise _UnexpectedError("a header line, a name such as fn=, a cost line or a comment")

    def _finished(self, line: str) -> Profile:
        if not length_hint(self.rest):
            raise _UnexpectedError("a line break after the totals: line")
        header = self.header
        return Profile(
            totals=_instructions(line.partition(":")[2], header.known_column()),
            exclusive={self._function(key): cost for key, cost in self.exclusive.items()},
            calls=tuple(
                Call(self._function(caller), self._function(callee), count, cost)
                for (caller, callee), (count, cost) in self.calls.items()
            ),
            creator=header.creator,
            command=header.command,
            pid=header.pid,
            thread=header.thread,
            part=header.part,
            descriptions=tuple(header.descriptions),
        )

    def _function(self, key: _Key) -> Function:
        function = self.functions.get(key)
        if function is None:
            function = self.functions[key] = Function(*key)
        return function


# --------------------------------------------------------------------------------- writing


def to_text(profile: Profile) -> str:
    """Write a profile so that ``parse``, ``callgrind_annotate`` and KCachegrind can read it.

    Positions are not known any more: every cost stands at line 0 of its function's file.
    Encode the text as UTF-8 with ``surrogateescape``: ``read`` decodes names in that way.
    """
    return "\n".join([*_header_lines(profile), *_body_lines(profile), ""])


def _header_lines(profile: Profile) -> Iterator[str]:
    yield "# callgrind format"
    yield "version: 1"
    if profile.creator:
        yield f"creator: {profile.creator}"
    for key, number in (("pid", profile.pid), ("thread", profile.thread), ("part", profile.part)):
        if number is not None:
            yield f"{key}: {number}"
    if profile.command:
        yield f"cmd: {profile.command}"
    for name, text in profile.descriptions:
        yield f"desc: {name}: {text}"
    yield "positions: line"
    yield "events: Ir"
    yield f"summary: {profile.totals}"
    yield ""


def _body_lines(profile: Profile) -> Iterator[str]:
    objects, files, names = _Numbers(), _Numbers(), _Numbers()
    calls = {caller: tuple(group) for caller, group in groupby(profile.calls, attrgetter("caller"))}
    for function in sorted(profile.exclusive.keys() | calls.keys()):
        yield f"ob={objects.spell(function.object_name)}"
        yield f"fl={files.spell(function.file)}"
        yield f"fn={names.spell(function.name)}"
        if function in profile.exclusive:
            yield f"0 {profile.exclusive[function]}"
        for call in calls.get(function, ()):
            yield f"cob={objects.spell(call.callee.object_name)}"
            yield f"cfi={files.spell(call.callee.file)}"
            yield f"cfn={names.spell(call.callee.name)}"
            yield f"calls={call.calls} 0"
            yield f"0 {call.instructions}"
        yield ""
    yield f"totals: {profile.totals}"


@attrs.define
class _Numbers:
    """Numbers for names, so that each is written out once."""

    given: dict[str, int] = attrs.Factory(dict)

    def spell(self, name: str) -> str:
        """Give the number of a name, with the name at its first use."""
        number = self.given.get(name)
        if number is not None:
            return f"({number})"
        number = self.given[name] = len(self.given) + 1
        return f"({number}) {name}"
