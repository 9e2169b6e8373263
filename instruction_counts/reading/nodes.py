"""Values of YAML and JSON files with their places, and the problems that are found there."""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Collection, Iterable
from typing import Any, TypeVar

import attrs

from instruction_counts.core.errors import quoted
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

    def attempt(self, parse: Callable[..., T], *args: Any, otherwise: Any = None) -> T | Any:
        """``parse(*args)``; its problems are noted, and give ``otherwise``."""
        try:
            return parse(*args)
        except ValidationError as error:
            self._found += error.problems
            return otherwise

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


def one_of(options: Collection[str], asked: object = None) -> str:
    """What is possible, and what is nearest to what was asked for."""
    near = difflib.get_close_matches(str(asked), options, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"one of {', '.join(options)}{hint}" if options else "nothing"
