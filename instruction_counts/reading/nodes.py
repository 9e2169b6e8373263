"""Values of YAML and JSON files with their places, and taking them apart.

What holds something else than was expected raises `ValidationError`; `Problems` gathers them, so
that all of a file are reported at once.
"""

from __future__ import annotations

import difflib
import json
import math
from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import attrs

from core.errors import quoted
from instruction_counts.domain.errors import Problem, ValidationError

T = TypeVar("T")


@attrs.frozen
class Node:
    """A value of a file, with its place; lists and mappings hold nodes."""

    file: str
    line: int
    """From 1, as the column."""
    column: int
    path: str
    """``$.operators["torch.add"].inputs.other``; ``$`` for the whole file."""
    value: Any

    @property
    def plain(self) -> Any:
        """The value without places, all the way down."""
        if isinstance(self.value, dict):
            return {name: node.plain for name, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain for node in self.value]
        return self.value

    def below(self, steps: Iterable[str | int]) -> Node:
        """The node that these names and positions lead to, or the last one on the way there."""
        node = self
        for step in steps:
            try:
                below = node.value[step]
            except (LookupError, TypeError):
                break
            if not isinstance(below, Node):  # a character of a string
                break
            node = below
        return node

    def problem(self, expected: str, found: str | None = None) -> Problem:
        """That something else is expected here."""
        if found is None:
            found = "nothing" if self.value is None else quoted(self.plain)
        return Problem(self.file, self.line, self.column, self.path, found, expected)

    def unlike(self, expected: str, found: str | None = None) -> ValidationError:
        """The error that something else is expected here."""
        return ValidationError([self.problem(expected, found)])


class Problems:
    """Gathers the problems of a file."""

    def __init__(self) -> None:
        self._found: list[Problem] = []

    def __len__(self) -> int:
        return len(self._found)

    def attempt(self, parse: Callable[..., T], *args: Any, otherwise: Any = None) -> T | Any:
        """``parse(*args)``; its problems are noted, and give ``otherwise``."""
        try:
            return parse(*args)
        except ValidationError as error:
            self._found += error.problems
            return otherwise

    def attempt_in(self, parts: Mapping[str, Node]) -> Callable[[str, Any, Any], Any]:
        """What parses a field of ``parts``; a field that is not there is ``otherwise``, too."""

        def attempt(field: str, parse: Any, otherwise: Any) -> Any:
            if field not in parts:
                return otherwise
            return self.attempt(parse, parts[field], otherwise=otherwise)

        return attempt

    def note(self, node: Node, expected: str, found: str | None = None) -> None:
        """Another problem."""
        self._found.append(node.problem(expected, found))

    def raise_any(self, remedy: str = "") -> None:
        """Report all of them.

        Raises:
            ValidationError: there are any.
        """
        if self._found:
            raise ValidationError(self._found, remedy)


def join(path: str, name: str) -> str:
    """The path of a field below ``path``."""
    return f"{path}.{name}" if name.isidentifier() else f"{path}[{json.dumps(name)}]"


def path_to(steps: Iterable[str | int]) -> str:
    """The path that names and positions lead along, from the whole file on."""
    path = "$"
    for step in steps:
        path = f"{path}[{step}]" if isinstance(step, int) else join(path, step)
    return path


def mapping(node: Node) -> Mapping[str, Node]:
    """A mapping with any names."""
    if not isinstance(node.value, dict):
        raise node.unlike("a mapping")
    return node.value


def fields(
    node: Node, required: Collection[str] = (), optional: Collection[str] = ()
) -> Mapping[str, Node]:
    """A mapping with exactly these names."""
    found = mapping(node)
    known = [*required, *optional]
    for name, below in found.items():
        if name not in known:
            raise below.unlike(one_of(known, name), f'a field "{name}"')
    for name in required:
        if name not in found:
            raise node.unlike(f'a field "{name}"', f"fields {', '.join(found) or 'none'}")
    return found


def items(node: Node) -> list[Node]:
    """A list."""
    if not isinstance(node.value, list):
        raise node.unlike("a list")
    return node.value


def text(node: Node) -> str:
    """A text that is not empty."""
    if not isinstance(node.value, str) or not node.value.strip():
        raise node.unlike("a non-empty string")
    return node.value


def flag(node: Node) -> bool:
    """True or false."""
    if not isinstance(node.value, bool):
        raise node.unlike("true or false")
    return node.value


def integer(node: Node, minimum: int | None = None, maximum: int | None = None) -> int:
    """A whole number, at least ``minimum`` and at most ``maximum``."""
    is_low = minimum is not None and type(node.value) is int and node.value < minimum
    is_high = maximum is not None and type(node.value) is int and node.value > maximum
    if type(node.value) is not int or is_low or is_high:
        least = "" if minimum is None else f", at least {minimum}"
        most = "" if maximum is None else f", at most {maximum}"
        raise node.unlike(f"a whole number{least}{most}")
    return node.value


def number(node: Node) -> float:
    """A finite number."""
    try:
        found = float(node.value) if type(node.value) in {int, float} else math.nan
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise node.unlike("a number")
    return found


def choice(node: Node, options: Iterable[str]) -> str:
    """One of several words."""
    known = list(options)
    if not isinstance(node.value, str) or node.value not in known:
        raise node.unlike(one_of(known, node.value))
    return node.value


def one_of(options: Collection[str], asked: object = None) -> str:
    """What is possible, and what is nearest to what was asked for."""
    near = difflib.get_close_matches(str(asked), options, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"one of {', '.join(options)}{hint}" if options else "nothing"


def path_of(node: Node, folder: Path) -> Path:
    """The path that a text names: from ``folder``, or from a home folder that begins with ~."""
    path = Path(text(node))
    if "\0" in str(path):
        raise node.unlike("a path without null characters")
    try:
        return folder / path.expanduser()
    except RuntimeError:
        raise node.unlike("a path in a home directory that exists") from None
