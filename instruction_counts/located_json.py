"""JSON as the nodes of YAML, so that both are taken apart alike, each value with its line.

YAML is no substitute for it: 1e-06 is a text there, and a pair of surrogates a mistake.
"""

from __future__ import annotations

import bisect
import json
from typing import NoReturn

import attrs
import yaml

_TAG = "tag:yaml.org,2002:"
_TAGS = {str: "str", bool: "bool", int: "int", float: "float", type(None): "null"}
_BLANK = " \t\n\r"


@attrs.frozen
class JsonError(Exception):
    """What is no JSON, with its line."""

    line: int
    reason: str


def compose(data: bytes, deepest: int) -> yaml.Node:
    """The nodes of a JSON text.

    Raises:
        JsonError: it is none, or is nested more than ``deepest`` levels deep.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise JsonError(data.count(b"\n", 0, error.start) + 1, "no UTF-8") from error
    return _Parser(text, deepest).whole()


class _Parser:
    """Lists and mappings by hand, for the places in them; all else is left to `json`."""

    def __init__(self, text: str, deepest: int) -> None:
        self._text, self._deepest = text, deepest
        self._lines = [place for place, one in enumerate(text) if one == "\n"]
        self._scan = json.JSONDecoder(parse_constant=self._refuse_constant).raw_decode
        self._at = 0

    def whole(self) -> yaml.Node:
        """The one value, with nothing after it."""
        node = self._value(0)
        if self._next():
            self._refuse("something after the end")
        return node

    def _value(self, depth: int) -> yaml.Node:
        if depth > self._deepest:
            self._refuse(f"nested more than {self._deepest} levels deep")
        kind, mark = self._next(), self._mark()
        if kind == "[":
            items: list[yaml.Node] = []
            while self._goes_on("]", first=not items):
                items.append(self._value(depth + 1))
            return yaml.SequenceNode(f"{_TAG}seq", items, mark, mark)
        if kind == "{":
            pairs: list[tuple[yaml.Node, yaml.Node]] = []
            while self._goes_on("}", first=not pairs):
                pairs.append((self._name(), self._value(depth + 1)))
            return yaml.MappingNode(f"{_TAG}map", pairs, mark, mark)
        return self._scalar(mark)

    def _goes_on(self, end: str, *, first: bool) -> bool:
        """Whether another item follows; what stands before it is passed over."""
        if first:
            self._at += 1  # the bracket
            if self._next() != end:
                return True
        elif self._next() not in {",", end}:
            self._refuse(f'"," or "{end}" is missing')
        is_comma = self._next() == ","
        self._at += 1
        return is_comma

    def _name(self) -> yaml.Node:
        if self._next() != '"':
            self._refuse("a name in double quotes is missing")
        name = self._scalar(self._mark())
        if self._next() != ":":
            self._refuse('":" is missing')
        self._at += 1
        return name

    def _scalar(self, mark: yaml.Mark) -> yaml.ScalarNode:
        begin = self._at
        try:
            value, self._at = self._scan(self._text, begin)
        except json.JSONDecodeError as error:
            self._at = error.pos
            self._refuse(error.msg)
        except ValueError as error:  # more digits than Python reads
            self._refuse(str(error))
        content = value if isinstance(value, str) else self._text[begin : self._at]
        if not content.isprintable() and any("\ud800" <= one <= "\udfff" for one in content):
            self._refuse("half of a pair of surrogates")  # which no file takes again
        return yaml.ScalarNode(_TAG + _TAGS[type(value)], content, mark, mark)

    def _next(self) -> str:
        """The first character that is not blank; empty at the end."""
        while self._at < len(self._text) and self._text[self._at] in _BLANK:
            self._at += 1
        return self._text[self._at : self._at + 1]

    def _mark(self) -> yaml.Mark:
        return yaml.Mark("", self._at, self._line() - 1, 0, None, 0)

    def _line(self) -> int:
        return bisect.bisect_left(self._lines, self._at) + 1

    def _refuse(self, reason: str) -> NoReturn:
        raise JsonError(self._line(), reason)

    def _refuse_constant(self, name: str) -> NoReturn:
        self._refuse(f"{name} is no number of JSON")
