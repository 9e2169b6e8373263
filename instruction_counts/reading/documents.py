"""Reading YAML and JSON files that people write, and saying what is wrong where.

`read` gives a `Node`. Whatever a file holds, it is read or refused, in time and memory that grow
with its size alone.
"""

import gzip
import json
import math
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn, TypeAlias

import attrs
import yaml

from instruction_counts.core.errors import quoted
from instruction_counts.domain.errors import DataError, Problem, ValidationError

_DEEPEST, _DEEPEST_IN_JSON = 100, 500
"""Levels: all versions of Python can read and write so many."""
_LARGEST_MIB = 64
_SHOWN = 100
_CHUNK = 1 << 20
_UNFIT = (ValueError, ArithmeticError, LookupError, AttributeError, TypeError)
"""What PyYAML raises for a text that its tag does not fit: !!bool maybe, !!int, !!timestamp x."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C library's is ten times faster


Steps: TypeAlias = tuple[str | int, ...]
"""The names and positions that lead to a value."""


@attrs.frozen
class Node:
    """A value of a file, without places; those of YAML are kept beside it."""

    file: str
    value: Any = None
    steps: Steps = ()
    places: Mapping[Steps, tuple[int, int]] = attrs.field(factory=dict, repr=False)
    """Line and column of each value of the file, from 1; none in JSON."""
    remedy: str = ""
    """What errors end in."""

    @property
    def line(self) -> int:
        """From 1; 0 where it is not known."""
        return self.places.get(self.steps, (0, 0))[0]

    def below(self, *steps: str | int) -> "Node":
        """The node that these names and positions lead to, or the last one on the way there."""
        value, way = self.value, self.steps
        for step in steps:
            inner: Any = value if isinstance(value, dict | list) else ()
            try:
                value = inner[step]
            except (LookupError, TypeError):
                break
            way = (*way, step)
        return attrs.evolve(self, value=value, steps=way)

    def problem(self, expected: str, found: str | None = None) -> Problem:
        """That something else is expected here."""
        if found is None:
            found = "nothing" if self.value is None else quoted(self.value)
        # ``$.operators["torch.add"].inputs.other``
        path = "".join(
            f".{step}" if isinstance(step, str) and step.isidentifier() else f"[{json.dumps(step)}]"
            for step in self.steps
        )
        place = self.places.get(self.steps, (0, 0))
        return Problem(self.file, *place, f"${path}", found, expected)

    def unlike(self, expected: str, found: str) -> ValidationError:
        """The error that something else is expected here."""
        return ValidationError([self.problem(expected, found)], self.remedy)


# Files


def read(
    path: Path, remedy: str = "", *, as_json: bool = False, largest_mib: int = _LARGEST_MIB
) -> Node:
    """What a YAML or JSON file holds; JSON where ``as_json`` or its name says so.

    Where its name ends in ``.gz``, it is unpacked; so many MiB of it are too large.

    Raises:
        DataError: the file cannot be read.
        ValidationError: it is not YAML or JSON, too large or nested too deeply, or a mapping has
            a key twice.
    """
    start = Node(str(path), remedy=remedy)
    data = read_bytes(path, (largest_mib << 20) + 1, remedy)
    if len(data) > largest_mib << 20:
        raise start.unlike(f"a file of at most {largest_mib:,} MiB, unpacked", "a larger one")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"the byte 0x{data[error.start]:02x} in line {data.count(10, 0, error.start) + 1}"
        raise start.unlike("text in UTF-8", found) from error
    del data  # the text alone can be large
    if as_json or path.suffix.lower() == ".json":
        return _of_json(start, text)
    return _Yaml(start, text).root()


def read_bytes(path: Path, most: int, remedy: str = "") -> bytearray:
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
        raise DataError(f"{path} cannot be unpacked: {error}", remedy) from error
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}", remedy) from error
    return found


# JSON


def parsed_json(text: str) -> Any:
    """What a text of JSON holds. Halves of surrogate pairs, which no file takes, become ``?``.

    Raises:
        ValueError: it is no JSON, a number has no end, or a mapping has a name twice.
        RecursionError: it is nested too deep.
    """
    values = json.loads(text, object_pairs_hook=_once, parse_constant=_refuse, parse_float=_finite)
    if "\\ud" in text or "\\uD" in text:
        whole = json.dumps(values, ensure_ascii=False).encode(errors="replace")
        values = json.loads(whole)
    return values


def _of_json(start: Node, text: str) -> Node:
    try:
        value = parsed_json(text)
    except json.JSONDecodeError as error:
        place = attrs.evolve(start, places={(): (error.lineno, error.colno)})
        raise place.unlike("JSON", error.msg if text.strip() else "nothing") from error
    except RecursionError as error:
        raise _too_deep(start, _DEEPEST_IN_JSON) from error
    except ValueError as error:  # more digits than Python reads, among others
        raise start.unlike("JSON", str(error)) from error
    if _is_deeper(value, _DEEPEST_IN_JSON):
        raise _too_deep(start, _DEEPEST_IN_JSON)
    return attrs.evolve(start, value=value)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        ((twice, _),) = Counter(name for name, _ in pairs).most_common(1)
        raise ValueError(f'"{twice}" twice in a mapping')
    return found


def _refuse(number: str) -> NoReturn:
    raise ValueError(f"{number} is not a number in JSON")


def _finite(number: str) -> float:
    value = float(number)
    return value if math.isfinite(value) else _refuse(number)


def _is_deeper(value: Any, levels: int) -> bool:
    nested = [value] if isinstance(value, dict | list) else []
    for _ in range(levels):
        nested = [
            inner
            for part in nested
            for inner in (part.values() if isinstance(part, dict) else part)
            if isinstance(inner, dict | list)
        ]
    return bool(nested)


def _too_deep(node: Node, levels: int) -> ValidationError:
    return node.unlike(f"at most {levels} levels", f"more than {levels} levels of nesting")


# YAML


def _place(mark: Any) -> tuple[int, int]:
    return (mark.line + 1, mark.column + 1) if mark else (1, 1)


class _Yaml:
    """Makes plain values of YAML's nodes, and keeps their places."""

    def __init__(self, start: Node, text: str) -> None:
        self._start, self._text = start, text
        self._places: dict[Steps, tuple[int, int]] = {(): (1, 1)}
        self._construct = yaml.constructor.SafeConstructor().construct_object

    def root(self) -> Node:
        """The node of the whole file; its value is None where there is nothing."""
        start = attrs.evolve(self._start, places=self._places)
        try:
            self._check_events()
            root = yaml.compose(self._text, Loader=_Loader)
        except yaml.MarkedYAMLError as error:
            self._places[()] = _place(error.problem_mark or error.context_mark)
            raise start.unlike("YAML", error.problem or str(error.context)) from error
        except (yaml.YAMLError, *_UNFIT) as error:
            raise start.unlike("YAML", " ".join(str(error).split())) from error
        return start if root is None else attrs.evolve(start, value=self._value(root, ()))

    def _check_events(self) -> None:
        # Taking deep ones apart would overflow the stack, and a few lines of aliases are endless.
        depth = 0
        for event in yaml.parse(self._text, Loader=_Loader):
            depth += isinstance(event, yaml.CollectionStartEvent)
            depth -= isinstance(event, yaml.CollectionEndEvent)
            if depth > _DEEPEST:
                raise _too_deep(self._at(event), _DEEPEST)
            if isinstance(event, yaml.AliasEvent):
                raise self._at(event).unlike("a value", f"the alias *{event.anchor}")

    def _at(self, found: Any, steps: Steps = ()) -> Node:
        places = {steps: _place(found.start_mark)}
        return attrs.evolve(self._start, steps=steps, places=places)

    def _value(self, found: Any, steps: Steps) -> Any:
        self._places[steps] = _place(found.start_mark)
        if isinstance(found, yaml.ScalarNode):
            return self._scalar(found, steps)
        if found.tag not in {"tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"}:
            raise self._at(found, steps).unlike("a plain value", found.tag)
        if isinstance(found, yaml.MappingNode):
            return self._mapping(found, steps)
        return [self._value(below, (*steps, at)) for at, below in enumerate(found.value)]

    def _scalar(self, found: yaml.ScalarNode, steps: Steps) -> Any:
        try:
            value = self._construct(found)
            # Raises where hexadecimal digits make a number that is too long, and for half a pair
            # of surrogates.
            str(value).encode()
            is_plain = not isinstance(value, dict | list | set)  # as a tag can make of a text
        except (yaml.YAMLError, *_UNFIT):
            is_plain = False
        if not is_plain:
            text = found.value if len(found.value) <= _SHOWN else f"{found.value[:_SHOWN]}…"
            raise self._at(found, steps).unlike("a plain value", f"{found.tag} {text}")
        return value

    def _mapping(self, found: yaml.MappingNode, steps: Steps) -> dict[str, Any]:
        value: dict[str, Any] = {}
        for key, below in found.value:
            name = self._scalar(key, steps) if isinstance(key, yaml.ScalarNode) else None
            if not isinstance(name, str):
                expected = "a string as the key: put it in quotes"
                said = quoted(name) if name is not None else "no string"
                raise self._at(key, steps).unlike(expected, said)
            way = (*steps, name)
            if name in value:
                again = f'"{name}" again, first in line {self._places[way][0]}'
                raise self._at(key, way).unlike("unique names", again)
            value[name] = self._value(below, way)
        return value
