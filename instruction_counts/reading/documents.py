"""Reading YAML and JSON files that people write, and saying what is wrong where.

`read` gives a `Node`. Whatever a file holds, it is read or refused, in time and memory that grow
with its size alone.
"""

from __future__ import annotations

import difflib
import gzip
import json
import re
import zlib
from collections.abc import Collection
from pathlib import Path
from typing import Any, NoReturn

import attrs
import yaml

from instruction_counts.core.errors import quoted
from instruction_counts.domain.errors import DataError, Problem, ValidationError

_DEEPEST = 100
_LARGEST = 64 << 20
_SHOWN = 100
_CHUNK = 1 << 20
_HALF = re.compile("[\ud800-\udfff]")
_UNFIT = (ValueError, ArithmeticError, LookupError, AttributeError, TypeError)
"""What PyYAML raises for a text that its tag does not fit: !!bool maybe, !!int, !!timestamp x."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C library's is ten times faster


@attrs.frozen
class Node:
    """A value of a file; those of YAML have a place, and their lists and mappings hold nodes."""

    file: str
    value: Any = None
    path: str = "$"
    """``$.operators["torch.add"].inputs.other``; ``$`` for the whole file."""
    line: int = 0
    """From 1, as the column; 0 in JSON, where places are not known."""
    column: int = 0

    @property
    def plain(self) -> Any:
        """The value without places, all the way down."""
        return _without_places(self.value) if self.line else self.value

    def below(self, *steps: str | int) -> Node:
        """The node that these names and positions lead to, or the last one on the way there."""
        node = self
        for step in steps:
            value: Any = node.value if isinstance(node.value, dict | list) else ()
            try:
                found = value[step]
            except (LookupError, TypeError):
                break
            node = found if self.line else Node(self.file, found, join(node.path, step))
        return node

    def problem(self, expected: str, found: str | None = None) -> Problem:
        """That something else is expected here."""
        if found is None:
            found = "nothing" if self.value is None else quoted(self.plain)
        return Problem(self.file, self.line, self.column, self.path, found, expected)

    def unlike(self, expected: str, found: str | None = None) -> ValidationError:
        """The error that something else is expected here."""
        return ValidationError([self.problem(expected, found)])


def _without_places(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_places(node.value) for name, node in value.items()}
    return [_without_places(node.value) for node in value] if isinstance(value, list) else value


def join(path: str, step: str | int) -> str:
    """The path of a field or an element below ``path``."""
    if isinstance(step, str) and step.isidentifier():
        return f"{path}.{step}"
    return f"{path}[{json.dumps(step)}]"


def one_of(options: Collection[str], asked: object = None) -> str:
    """What is possible, and what is nearest to what was asked for."""
    near = difflib.get_close_matches(str(asked), options, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"one of {', '.join(options)}{hint}" if options else "nothing"


# Files


def read(path: Path, remedy: str = "", *, as_json: bool | None = None) -> Node:
    """What a YAML or JSON file holds; its name decides where ``as_json`` does not.

    Raises:
        DataError: the file cannot be read.
        ValidationError: it is not YAML or JSON, too large or nested too deeply, or a mapping has
            a key twice.
    """
    try:
        if path.suffix.lower() == ".json" if as_json is None else as_json:
            return _of_json(str(path), _read_text(path))
        return _Yaml(str(path), _read_text(path)).root()
    except ValidationError as error:
        raise ValidationError(error.problems, remedy) from error.__cause__
    except DataError as error:
        raise DataError(error.message, remedy or error.remedy) from error.__cause__


def _read_text(path: Path) -> str:
    data = read_bytes(path, _LARGEST + 1)
    if len(data) > _LARGEST:
        raise Node(str(path)).unlike(f"a file of at most {_LARGEST >> 20} MiB", "a larger one")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        place = Node(str(path), line=line, column=column)
        raise place.unlike("text in UTF-8", f"the byte 0x{data[error.start]:02x}") from error


def read_bytes(path: Path, most: int) -> bytearray:
    """What a file holds, unpacked if it is called ``.gz``; the first ``most`` bytes at most.

    A pipe or a device may have no end, and a few bytes can unpack to more than any memory holds.

    Raises:
        DataError: it cannot be read, or unpacked.
    """
    found = bytearray()
    try:
        with gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb") as stream:
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


def has_half(text: str) -> bool:
    """Whether a text has half a pair of surrogates: no file takes it again."""
    return not text.isascii() and _HALF.search(text) is not None


# JSON


def _of_json(file: str, text: str) -> Node:
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        place = Node(file, line=error.lineno, column=error.colno)
        raise place.unlike("JSON", error.msg) from error
    except RecursionError as error:
        raise _too_deep(Node(file)) from error
    except ValueError as error:  # more digits than Python reads, among others
        raise Node(file).unlike("JSON", str(error)) from error
    if _is_deeper(value, _DEEPEST):
        raise _too_deep(Node(file))
    if "\\u" in text and has_half(json.dumps(value, ensure_ascii=False)):
        raise Node(file).unlike("text", "an unpaired surrogate")
    return Node(file, value)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in found:
            raise ValueError(f'"{name}" twice in a mapping')
        found[name] = value
    return found


def _refuse(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a number in JSON")


def _is_deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    below = value.values() if isinstance(value, dict) else value
    return levels == 0 or any(_is_deeper(part, levels - 1) for part in below)


def _too_deep(node: Node) -> ValidationError:
    return node.unlike(f"at most {_DEEPEST} levels", f"more than {_DEEPEST} levels of nesting")


# YAML


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
        start = Node(self._file, line=1, column=1)
        try:
            self._check_depth()
            root = yaml.compose(self._text, Loader=_Loader)
        except yaml.MarkedYAMLError as error:
            place = self._placed(error.problem_mark or error.context_mark, "$")
            raise place.unlike("YAML", error.problem or str(error.context)) from error
        except (yaml.YAMLError, *_UNFIT) as error:
            raise start.unlike("YAML", " ".join(str(error).split())) from error
        return start if root is None else self._node(root, "$")

    def _check_depth(self) -> None:
        # Taking it apart would overflow the stack.
        depth = 0
        for event in yaml.parse(self._text, Loader=_Loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise _too_deep(self._placed(event.start_mark, "$"))

    def _placed(self, mark: Any, path: str) -> Node:
        line, column = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        return Node(self._file, None, path, line, column)

    def _node(self, found: Any, path: str) -> Node:
        self._left -= 1
        place = self._placed(found.start_mark, path)
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
            else [self._node(below, join(path, at)) for at, below in enumerate(found.value)]
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
            place = self._placed(key.start_mark, path)
            name = self._scalar(key, place) if isinstance(key, yaml.ScalarNode) else None
            if not isinstance(name, str):
                expected = "a string as the key: put it in quotes"
                raise place.unlike(expected, quoted(name) if name is not None else "no string")
            place = attrs.evolve(place, path=join(path, name))
            if name in value:
                found_again = f'"{name}" again, first in line {value[name].line}'
                raise place.unlike("unique names", found_again)
            value[name] = self._node(below, place.path)
        return value
