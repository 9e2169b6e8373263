"""Reading YAML and JSON files that people write: every value with its place.

`read` gives a tree of `Node`. Whatever a file holds, it is read or refused, in
time and memory that grow with its size alone.
"""

from __future__ import annotations

import bisect
import gzip
import json
import re
import zlib
from pathlib import Path
from typing import Any, NoReturn

import attrs
import yaml

from instruction_counts.core.errors import quoted
from instruction_counts.domain.errors import DataError, ValidationError
from instruction_counts.reading.nodes import Node, join

_DEEPEST = 100
_LARGEST = 64 << 20
_SHOWN = 100
_CHUNK = 1 << 20
_NO_TEXT = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_UNFIT = (ValueError, ArithmeticError, LookupError, AttributeError, TypeError)
"""What PyYAML raises for a text that its tag does not fit: !!bool maybe, !!int, !!timestamp x."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C library's is ten times faster


def read(path: Path, remedy: str = "", *, as_json: bool | None = None) -> Node:
    """The tree of a YAML or JSON file; its name decides where ``as_json`` does not.

    Raises:
        DataError: the file cannot be read.
        ValidationError: it is not YAML or JSON, too large or nested too deeply, or a mapping has
            a key twice.
    """
    try:
        make = _Json if as_json or (as_json is None and is_json(path)) else _Yaml
        return make(str(path), read_text(path)).root()
    except ValidationError as error:
        raise ValidationError(error.problems, remedy) from error.__cause__
    except DataError as error:
        raise DataError(error.message, remedy or error.remedy) from error.__cause__


def is_json(path: Path) -> bool:
    """Whether a file is read as JSON."""
    return path.suffix.lower() == ".json"


def read_text(path: Path) -> str:
    """The text of a file, unpacked if it is called ``.gz``.

    Raises:
        DataError: the file cannot be read.
        ValidationError: it is too large, or not UTF-8.
    """
    limit = _LARGEST
    data = read_bytes(path, limit + 1)
    whole = Node(str(path), 1, 1, "$", None)
    if len(data) > limit:
        raise whole.unlike(f"a file of at most {limit >> 20} MiB", "a larger one")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        place = attrs.evolve(whole, line=line, column=column)
        raise place.unlike("text in UTF-8", f"the byte 0x{data[error.start]:02x}") from error


def read_bytes(path: Path, most: int) -> bytearray:
    """What a file holds, unpacked if it is called ``.gz``; the first ``most`` bytes at most.

    A pipe or a device may have no end, and a few bytes can unpack to more than any memory holds.

    Raises:
        DataError: it cannot be read, or unpacked.
    """
    found = bytearray()
    try:
        with gzip.open(path) if is_compressed(path) else path.open("rb") as stream:
            while len(found) < most and (part := stream.read(min(_CHUNK, most - len(found)))):
                found += part
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise DataError(
            f"{path} cannot be unpacked: {error}",
            "It is damaged, incomplete, or not a gzip file: copy it again, or measure again.",
        ) from error
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}") from error
    return found


def is_compressed(path: Path) -> bool:
    """Whether a file is read as gzip's."""
    return path.suffix.lower() == ".gz"


def _too_deep(node: Node) -> ValidationError:
    return node.unlike(f"at most {_DEEPEST} levels", f"more than {_DEEPEST} levels of nesting")


def _add(found: dict[str, Node], name: str, key: Node, value: Node) -> None:
    if name in found:
        first = found[name].line
        raise key.unlike("unique names", f'"{name}" again, first in line {first}')
    found[name] = value


class _Yaml:
    """Makes nodes of YAML's."""

    def __init__(self, file: str, text: str) -> None:
        self._file, self._text = file, text
        self._construct = yaml.constructor.SafeConstructor().construct_object
        self._open: set[int] = set()
        self._left = 10_000 + 10 * len(text)
        """Aliases of aliases make endless data of a few lines."""

    def root(self) -> Node:
        """The node of the whole file; its value is None where there is nothing."""
        if bad := _NO_TEXT.search(self._text):
            line = self._text.count("\n", 0, bad.start()) + 1
            column = bad.start() - self._text.rfind("\n", 0, bad.start())
            place = Node(self._file, line, column, "$", None)
            raise place.unlike("YAML", f"the character U+{ord(bad[0]):04X}")
        try:
            self._check_depth()
            root = yaml.compose(self._text, Loader=_Loader)
        except yaml.MarkedYAMLError as error:
            place = self._placed(error.problem_mark or error.context_mark, "$", None)
            raise place.unlike("YAML", error.problem or str(error.context)) from error
        except (yaml.YAMLError, *_UNFIT) as error:
            raise Node(self._file, 1, 1, "$", None).unlike("YAML", str(error)) from error
        return Node(self._file, 1, 1, "$", None) if root is None else self._node(root, "$")

    def _check_depth(self) -> None:
        # Taking it apart would overflow the stack.
        depth = 0
        for event in yaml.parse(self._text, Loader=_Loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise _too_deep(self._placed(event.start_mark, "$", None))

    def _placed(self, mark: Any, path: str, value: Any) -> Node:
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return Node(self._file, line, column, path, value)

    def _node(self, found: Any, path: str) -> Node:
        self._left -= 1
        place = self._placed(found.start_mark, path, None)
        if self._left < 0:
            raise place.unlike("fewer aliases", "too many values")
        if isinstance(found, yaml.ScalarNode):
            return attrs.evolve(place, value=self._scalar(found, place))
        if found.tag not in {"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}:
            raise place.unlike("a plain value", found.tag)
        if id(found) in self._open:
            raise place.unlike("no alias that refers to itself", "a cycle")
        self._open.add(id(found))
        value: Any = (
            self._mapping(found, path)
            if isinstance(found, yaml.MappingNode)
            else [self._node(below, f"{path}[{at}]") for at, below in enumerate(found.value)]
        )
        self._open.discard(id(found))
        return attrs.evolve(place, value=value)

    def _scalar(self, found: yaml.ScalarNode, place: Node) -> Any:
        try:
            value = self._construct(found)
            str(value)  # raises where hexadecimal digits make a number that is too long to show
            is_plain = not isinstance(value, dict | list | set)  # as a tag can make of a text
        except (yaml.YAMLError, *_UNFIT):
            is_plain = False
        if not is_plain:
            text = found.value if len(found.value) <= _SHOWN else f"{found.value[:_SHOWN]}…"
            raise place.unlike("a plain value", f"{found.tag} {text}")
        return value

    def _mapping(self, found: yaml.MappingNode, path: str) -> dict[str, Node]:
        value: dict[str, Node] = {}
        for key, below in found.value:
            place = self._placed(key.start_mark, path, None)
            name = self._scalar(key, place) if isinstance(key, yaml.ScalarNode) else None
            if not isinstance(name, str):
                expected = "a string as the key: put it in quotes"
                raise place.unlike(expected, quoted(name) if name is not None else "no string")
            place = attrs.evolve(place, path=join(path, name))
            _add(value, name, place, self._node(below, place.path))
        return value


class _Json:
    """Makes nodes of JSON; Python's reader decides what it is, and reads the values."""

    def __init__(self, file: str, text: str) -> None:
        self._file, self._text = file, text
        self._lines = [match.end() for match in re.finditer("\n", text)]
        self._decoder = json.JSONDecoder(parse_constant=_refuse)

    def root(self) -> Node:
        """The node of the whole file."""
        try:
            json.loads(self._text, parse_constant=_refuse)
        except json.JSONDecodeError as error:
            place = Node(self._file, error.lineno, error.colno, "$", None)
            raise place.unlike("JSON", error.msg) from error
        except RecursionError as error:
            raise _too_deep(Node(self._file, 1, 1, "$", None)) from error
        except ValueError as error:  # more digits than Python reads
            raise Node(self._file, 1, 1, "$", None).unlike("JSON", str(error)) from error
        return self._node(self._blank(0), "$", 0)[0]

    def _blank(self, at: int) -> int:
        end = _BLANK.match(self._text, at)
        return end.end() if end else at

    def _placed(self, at: int, path: str, value: Any) -> Node:
        line = bisect.bisect_right(self._lines, at)
        return Node(
            self._file, line + 1, at - (self._lines[line - 1] if line else 0) + 1, path, value
        )

    def _node(self, at: int, path: str, depth: int) -> tuple[Node, int]:
        """The node that begins at an offset, and where it ends."""
        kind = self._text[at]
        if kind not in "[{":
            value, end = self._decoder.raw_decode(self._text, at)
            return self._placed(at, path, self._whole(value, at, path)), end
        if depth >= _DEEPEST:
            raise _too_deep(self._placed(at, path, None))
        items: list[Node] = []
        fields: dict[str, Node] = {}
        end = self._blank(at + 1)
        while self._text[end] not in "]}":
            end = self._blank(end + 1) if self._text[end] == "," else end
            if kind == "{":
                key = self._placed(end, path, None)
                name, colon = self._decoder.raw_decode(self._text, end)
                key = attrs.evolve(key, path=join(path, self._whole(name, end, path)))
                begin = self._blank(self._blank(colon) + 1)
                node, end = self._node(begin, key.path, depth + 1)
                _add(fields, name, key, node)
            else:
                node, end = self._node(end, f"{path}[{len(items)}]", depth + 1)
                items.append(node)
            end = self._blank(end)
        return self._placed(at, path, items if kind == "[" else fields), end + 1

    def _whole(self, value: Any, at: int, path: str) -> Any:
        if isinstance(value, str) and HALF.search(value):  # no file takes it again
            raise self._placed(at, path, None).unlike("text", "an unpaired surrogate")
        return value


_BLANK = re.compile("[ \t\r\n]*")
HALF = re.compile("[\ud800-\udfff]")


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")
