"""Profiles in Callgrind's text format, as one dump of a process that we started writes them.

Costs are executed instructions (event ``Ir``) per function, or a weighted sum of events. Names keep
what Callgrind wrote, except that the suffix ``'N`` of a recursion level is removed and all levels
of a function are one.

The file of a function is the one that it is defined in: the cost of code inlined into it from
another file (``fi=``, ``fe=``) counts as its own. ``callgrind_annotate`` shows such cost under
the other file, so the two agree on a function only after adding up over files.

A dump that was cut off has no ``totals:`` line, or an unfinished one, and is refused; so is one
whose lines do not add up to it, and a file of several parts, as ``--combine-dumps=yes`` writes it.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import attrs

_UNKNOWN = "???"
"""What Callgrind writes for an object or a file that it does not know."""
_COST_START = frozenset("0123456789+-*")
_COMPRESSED = re.compile(r"(\([0-9]+\)) ?(.*)")
_RECURSION = re.compile(r"(?<=.)(?:'[0-9]+)+\Z")
_TOTALS = re.compile(r"totals: ([0-9]{1,30}(?: [0-9]{1,30}){0,99})\n\s*")
_EVENTS = re.compile(rb"^events: ([^\n]{1,500})\n", re.MULTILINE)
_NAMES = {"ob": "ob", "fl": "fl", "fi": "fl", "fe": "fl", "fn": "fn"}
_CALLED = {"cob": "ob", "cfl": "fl", "cfi": "fl", "cfn": "fn"}
"""The lines that name something, and whose numbers it shares; those of a callee hold for a call."""


class CallgrindFormatError(Exception):
    """A file is not a complete profile in Callgrind's format; the message names it."""


class Function(NamedTuple):
    """A function, all its recursion levels together.

    A tuple: each line of a dump is looked up by one, and other classes are slow to hash.
    """

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
_NONE = (0, 0)


@attrs.frozen
class CallgrindProfile:
    """What a dump says."""

    totals: int
    """From ``totals:``, the sum of all cost lines."""
    exclusive: Mapping[Function, int]
    """What each function costs itself; a function without any cost is left out."""
    calls: Mapping[Edge, Calls] = attrs.field(factory=dict)

    @property
    def inclusive(self) -> Mapping[Function, int]:
        """What each function costs with all that it calls."""
        costs = dict(self.exclusive)
        for (caller, callee), (_, cost) in self.calls.items():
            if caller != callee:
                costs[caller] = costs.get(caller, 0) + cost
        return costs


INSTRUCTIONS: Mapping[str, int] = {"Ir": 1}


def read(path: Path, weights: Mapping[str, int] = INSTRUCTIONS) -> CallgrindProfile:
    """Read a file that has one part; events cost their ``weights``, and others nothing.

    Raises:
        CallgrindFormatError: it is damaged, or no such file.
        OSError: it cannot be read.
    """
    content = path.read_bytes()
    if weights == INSTRUCTIONS:
        totals, reader = _events_in(content, path, alone=True)["Ir"], _Reader()
    else:
        events = _events_in(content, path)
        weighted = [weights.get(event, 0) for event in events]
        totals = sum(map(operator.mul, weighted, events.values()))
        reader = _Reader(lambda counts: sum(map(operator.mul, weighted, map(int, counts))))
    for number, line in enumerate(content.decode("utf-8", "surrogateescape").split("\n"), 1):
        try:
            reader.take(line)
        except (ValueError, KeyError, IndexError) as error:
            message = f"{path}, line {number}: it cannot be read: {line[:200]!r}"
            raise CallgrindFormatError(message) from error
    reader.end_function()
    if sum(reader.exclusive.values()) != totals:
        raise CallgrindFormatError(f"{path}: its lines do not add up to its totals, {totals}")
    return CallgrindProfile(
        totals, {key: cost for key, cost in reader.exclusive.items() if cost}, reader.calls
    )


def read_totals(path: Path) -> int:
    """Read the instructions of a file that has one part, and nothing else of it; raises as `read`.

    It is asked for each window of a case, and most dumps have some ten thousand lines.
    """
    return _events_in(path.read_bytes(), path, alone=True)["Ir"]


def read_events(path: Path) -> dict[str, int]:
    """Read how often each event of a file of one part happened, by Callgrind's names.

    Simulated caches and branches have events beside ``Ir``, such as ``D1mr``. Raises as `read`.
    """
    return _events_in(path.read_bytes(), path)


def _events_in(content: bytes, path: Path, *, alone: bool = False) -> dict[str, int]:
    """What the totals say of each event; ``Ir`` is one of them, or ``alone``."""
    names = _EVENTS.search(content)
    last = content[content.find(b"\ntotals:") + 1 :].decode(errors="replace")
    totals = _TOTALS.fullmatch(last)
    events = names[1].decode(errors="replace").split() if names else []
    numbers = totals[1].split() if totals else []
    if not 0 < len(numbers) <= len(events) or "Ir" not in events or (alone and events != ["Ir"]):
        ir = "Ir alone" if alone else "Ir"
        raise CallgrindFormatError(
            f"{path}: expected an events: line with {ir}, and one complete totals: line"
        )
    left_out = ["0"] * (len(events) - len(numbers))
    return dict(zip(events, map(int, [*numbers, *left_out]), strict=True))


class _Reader:
    """Takes the lines one after the other; what is damaged raises what `read` catches."""

    def __init__(self, cost_of: Callable[[Sequence[str]], int] | None = None) -> None:
        self._cost_of = cost_of
        """The cost of a line from its numbers; None: the first of them."""
        self.exclusive: dict[Function, int] = {}
        self.calls: dict[Edge, Calls] = {}
        self._known: dict[tuple[str, str], str] = {}
        """The names that have a number, by their kind and that."""
        self._named = {"ob": _UNKNOWN, "fl": _UNKNOWN}
        self._called: dict[str, str] = {}
        """The same of a callee, as far as it is named: for one call."""
        self._running: Function | None = None
        self._own = 0
        """What the lines of the running function cost so far."""
        self._calls: int | None = None
        """How many calls the next cost is that of: none that began before; None if of no call."""

    def take(self, line: str) -> None:
        """Take a line."""
        if line[:1] in _COST_START:
            fields = line.split()
            if self._cost_of is not None:
                cost = self._cost_of(fields[1:])
            else:
                cost = int(fields[1]) if len(fields) > 1 else 0  # nothing may be left out
            if self._running is None:
                raise ValueError("a cost of no function")
            if self._calls is None:
                self._own += cost
            else:
                self._take_calls(self._running, self._calls, cost)
            return
        key, _, text = line.partition("=")
        if key in _CALLED:
            kind = _CALLED[key]
            self._called[kind] = self._known.get((kind, text)) or self._name(kind, text)
        elif key in _NAMES:
            kind = _NAMES[key]
            self._named[kind] = self._known.get((kind, text)) or self._name(kind, text)
            if kind == "fn":
                # A function that follows code inlined from its own file has no fl= line: what
                # holds is the file named last, by whichever of fl=, fi= and fe=.
                self.end_function()
                self._running = _function(self._named)
        elif key == "calls":
            self._calls = int(text.split()[0])

    def end_function(self) -> None:
        """What cost lines say from now on is of another function."""
        if self._running is not None:
            self.exclusive[self._running] = self.exclusive.get(self._running, 0) + self._own
        self._own = 0

    def _take_calls(self, caller: Function, number: int, cost: int) -> None:
        called = {"ob": self._named["ob"], "fl": self._named["fl"], **self._called}
        edge = caller, _function(called)
        calls, instructions = self.calls.get(edge, _NONE)
        self.calls[edge] = calls + number, instructions + cost
        self._called, self._calls = {}, None

    def _name(self, kind: str, text: str) -> str:
        compressed = _COMPRESSED.fullmatch(text)
        number, name = compressed.groups() if compressed else ("", text)
        if number and not name:
            return self._known[kind, number]
        name = (_RECURSION.sub("", name) if kind == "fn" else name) or _UNKNOWN
        if number:
            self._known[kind, number] = name
        return name


def _function(named: Mapping[str, str]) -> Function:
    return Function(named["ob"], named["fl"], named["fn"])
