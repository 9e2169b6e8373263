"""Reading YAML and JSON so that every mistake is told with its file, its line and its field.

`read` gives a tree of `Node`; the functions below it take one apart, and raise `Misfit` where it
holds something else. `Mistakes` gathers them, so that all of a file are reported at once.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import attrs
import yaml

from core.errors import quoted
from instruction_counts.domain.errors import DataError
from instruction_counts.reading import json_positions as located_json

T = TypeVar("T")
_MOST_NODES = 1_000_000
_DEEPEST = 100
_LONGEST = 100
_UNFIT = (ValueError, ArithmeticError, LookupError, AttributeError, TypeError)
"""What PyYAML raises for a text that its tag does not fit: !!bool maybe, !!int, !!timestamp x."""

_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  # the C library's is ten times faster


class _JsonLoader(_Loader):  # type: ignore[misc]
    """Takes every number of JSON for one."""


_JsonLoader.add_implicit_resolver(
    "tag:yaml.org,2002:float", located_json.NUMBER, list("-0123456789")
)


@attrs.frozen
class Node:
    """A value of a file, with its place; lists and mappings hold nodes."""

    file: str
    line: int
    """From 1."""
    path: str
    """``operators["torch.add"].inputs.other``; empty for the whole file."""
    value: Any

    @property
    def plain(self) -> Any:
        """The value without places, all the way down."""
        if isinstance(self.value, dict):
            return {name: node.plain for name, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain for node in self.value]
        return self.value


class Misfit(ValueError):  # noqa: N818 - a value that somebody decides about
    """A node that holds something else than was expected."""

    def __init__(self, node: Node, expected: str, found: str | None = None) -> None:
        self.node, self.expected = node, expected
        self.found = quoted(node.plain) if found is None else found
        super().__init__(str(self))

    def __str__(self) -> str:
        place = f"{self.node.file}:{self.node.line}: {self.node.path or 'the file'}"
        return f"{place}\n  found     {self.found}\n  expected  {self.expected}"


class Mistakes:
    """Gathers the misfits of a file."""

    def __init__(self) -> None:
        self._misfits: list[Misfit] = []

    def attempt(self, parse: Callable[..., T], *args: Any, otherwise: Any = None) -> T | Any:
        """``parse(*args)``; its misfit is noted, and gives ``otherwise``."""
        try:
            return parse(*args)
        except Misfit as misfit:
            self._misfits.append(misfit)
            return otherwise

    def __len__(self) -> int:
        return len(self._misfits)

    def note(self, misfit: Misfit) -> None:
        """One more."""
        self._misfits.append(misfit)

    def raise_any(self, remedy: str = "") -> None:
        """Report all of them, in the order of their lines.

        Raises:
            DataError: there are any.
        """
        if self._misfits:
            self._misfits.sort(key=lambda one: one.node.line)
            raise DataError("\n".join(str(one) for one in self._misfits), remedy)


# ---------------------------------------------------------------------------------------------
# Reading
# ---------------------------------------------------------------------------------------------


def read(path: Path, remedy: str = "") -> Node:
    """The tree of a YAML file, or of a JSON file, which is told by its name.

    Raises:
        DataError: the file is missing or is no YAML, or a mapping has one key twice.
    """
    try:
        root = _composed(path, path.read_bytes(), remedy)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror}", remedy) from error
    except yaml.MarkedYAMLError as error:
        line = f":{error.problem_mark.line + 1}" if error.problem_mark else ""
        raise DataError(f"{path}{line}: no YAML: {error.problem}", remedy) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: no YAML: {error}", remedy) from error
    except located_json.JsonError as error:
        place = f"{path}:{error.line}" if error.line else str(path)
        raise DataError(f"{place}: no JSON: {error.reason}", remedy) from error
    if root is None:
        return Node(str(path), 1, "", None)
    try:
        return _Tree(str(path)).node(root, "")
    except Misfit as misfit:
        raise DataError(str(misfit), remedy) from None


def _composed(path: Path, data: bytes, remedy: str) -> Any:
    is_json = path.suffix.lower() == ".json"
    content = located_json.as_yaml(data) if is_json else data
    _check_depth(path, content, remedy)
    return yaml.compose(content, Loader=_JsonLoader if is_json else _Loader)


def _check_depth(path: Path, data: str | bytes, remedy: str) -> None:
    """Refuse what is nested so deeply that taking it apart would overflow the stack."""
    depth = 0
    for event in yaml.parse(data, Loader=_Loader):
        depth += isinstance(event, yaml.CollectionStartEvent)
        depth -= isinstance(event, yaml.CollectionEndEvent)
        if depth > _DEEPEST:
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise DataError(f"{path}:{line}: nested more than {_DEEPEST} levels deep", remedy)


class _Tree:
    """Makes nodes of YAML's."""

    def __init__(self, file: str) -> None:
        self._file = file
        self._construct = yaml.constructor.SafeConstructor().construct_object
        self._open: set[int] = set()
        self._count = 0

    def node(self, found: Any, path: str) -> Node:
        """The node of ``found``, and of everything below it."""
        line = found.start_mark.line + 1
        self._count += 1
        if self._count > _MOST_NODES:  # aliases of aliases: a small file can mean endless data
            raise Misfit(Node(self._file, line, path, None), "fewer aliases", "too many values")
        if isinstance(found, yaml.ScalarNode):
            return Node(self._file, line, path, self._scalar(found, path))
        if id(found) in self._open:
            raise Misfit(Node(self._file, line, path, None), "no alias of itself", "a loop")
        self._open.add(id(found))
        value: Any = (
            self._mapping(found, path)
            if isinstance(found, yaml.MappingNode)
            else [self.node(one, f"{path}[{place}]") for place, one in enumerate(found.value)]
        )
        self._open.discard(id(found))
        return Node(self._file, line, path, value)

    def _scalar(self, found: yaml.ScalarNode, path: str) -> Any:
        try:
            value = self._construct(found)
            str(value)  # raises where hexadecimal digits make a number that is too long to show
            is_plain = not isinstance(value, dict | list | set)  # as a tag can make of a text
        except (yaml.YAMLError, *_UNFIT):
            is_plain = False
        if not is_plain:
            text = found.value if len(found.value) <= _LONGEST else f"{found.value[:_LONGEST]}…"
            node = Node(self._file, found.start_mark.line + 1, path, found.value)
            raise Misfit(node, "a plain value", f"{found.tag} {text}")
        return value

    def _mapping(self, found: yaml.MappingNode, path: str) -> dict[str, Node]:
        value: dict[str, Node] = {}
        for key, below in found.value:
            name = self._scalar(key, path) if isinstance(key, yaml.ScalarNode) else None
            node = Node(self._file, key.start_mark.line + 1, join(path, str(name)), name)
            if not isinstance(name, str):
                raise Misfit(node, "a name that is text; put it into quotes")
            if name in value:
                first = value[name].line
                raise Misfit(node, "each name once", f'"{name}" again, first in line {first}')
            value[name] = self.node(below, join(path, name))
        return value


def join(path: str, name: str) -> str:
    """The path of a field below ``path``."""
    if not name.isidentifier():
        return f'{path}["{name}"]'
    return f"{path}.{name}" if path else name


# ---------------------------------------------------------------------------------------------
# Taking apart
# ---------------------------------------------------------------------------------------------


def mapping(node: Node) -> Mapping[str, Node]:
    """A mapping with any names."""
    if not isinstance(node.value, dict):
        raise Misfit(node, "a mapping")
    return node.value


def fields(
    node: Node, required: Collection[str] = (), optional: Collection[str] = ()
) -> Mapping[str, Node]:
    """A mapping with exactly these names."""
    found = mapping(node)
    known = [*required, *optional]
    for name, below in found.items():
        if name not in known:
            raise Misfit(below, one_of(known, name), f'a field "{name}"')
    for name in required:
        if name not in found:
            raise Misfit(node, f'a field "{name}"', f"fields {', '.join(found) or 'none'}")
    return found


def items(node: Node) -> list[Node]:
    """A list."""
    if not isinstance(node.value, list):
        raise Misfit(node, "a list")
    return node.value


def text(node: Node) -> str:
    """A text that is not empty."""
    if not isinstance(node.value, str) or not node.value.strip():
        raise Misfit(node, "a text")
    return node.value


def flag(node: Node) -> bool:
    """True or false."""
    if not isinstance(node.value, bool):
        raise Misfit(node, "true or false")
    return node.value


def integer(node: Node, minimum: int | None = None, maximum: int | None = None) -> int:
    """A whole number, at least ``minimum`` and at most ``maximum``."""
    is_low = minimum is not None and type(node.value) is int and node.value < minimum
    is_high = maximum is not None and type(node.value) is int and node.value > maximum
    if type(node.value) is not int or is_low or is_high:
        least = "" if minimum is None else f", at least {minimum}"
        most = "" if maximum is None else f", at most {maximum}"
        raise Misfit(node, f"a whole number{least}{most}")
    return node.value


def number(node: Node) -> float:
    """A finite number."""
    try:
        found = float(node.value) if type(node.value) in {int, float} else math.nan
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise Misfit(node, "a number")
    return found


def choice(node: Node, options: Iterable[str]) -> str:
    """One of several words."""
    known = list(options)
    if not isinstance(node.value, str) or node.value not in known:
        raise Misfit(node, one_of(known, node.value))
    return node.value


def one_of(options: Collection[str], asked: object = None) -> str:
    """What is possible, and what is nearest to what was asked for."""
    near = difflib.get_close_matches(str(asked), options, n=1)
    hint = f"; do you mean {near[0]}?" if near else ""
    return f"one of {', '.join(options)}{hint}" if options else "nothing"
