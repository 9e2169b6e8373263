"""Errors of the DSL, and the switch that lets a whole file's mistakes be reported at once."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import wraps
from typing import Any, TypeVar

import attrs

_deferring: ContextVar[bool] = ContextVar("deferring", default=False)

T = TypeVar("T")


@attrs.define(eq=False)
class DefinitionError(ValueError):
    """One mistake in a benchmark definition.

    ``field`` is the argument that is wrong, ``found`` what it holds (shown as it is), ``expected``
    what it should hold. ``label`` is the path of the benchmark and ``source`` the file, as far as
    they are known: a constructor knows neither, `core.utils.flatten` knows the label.
    """

    field: str
    found: str
    expected: str
    label: tuple[str, ...] | None = None
    source: str | None = None

    def __str__(self) -> str:
        where = "" if self.label is None else "".join(f"[{part!r}]" for part in self.label)
        place = f"{where}.{self.field}" if where else self.field
        prefix = "" if self.source is None else f"{self.source}: "
        return (
            f"{prefix}{'BENCHMARKS' if where else ''}{place}\n"
            f"  found     {self.found}\n"
            f"  expected  {self.expected}"
        )


class DefinitionErrors(ValueError):  # noqa: N818 - several of them
    """All the mistakes that one definition holds, in the order of their labels."""

    def __init__(self, errors: tuple[DefinitionError, ...]) -> None:
        super().__init__(errors)
        self.errors = errors

    def __str__(self) -> str:
        return "\n".join(str(error) for error in self.errors)


@attrs.frozen
class Broken:
    """Stands where a benchmark would, had its definition been valid."""

    error: DefinitionError


class BrokenText(str):
    """Stands where a parsed statement would; whoever uses it reports ``error``."""

    __slots__ = ("error",)

    error: DefinitionError

    @classmethod
    def of(cls, error: DefinitionError) -> BrokenText:
        """An empty text that remembers why it is empty."""
        text = cls("")
        text.error = error
        return text


@contextlib.contextmanager
def deferring() -> Iterator[None]:
    """Let constructors return stand-ins for invalid definitions instead of raising.

    A definition file is one big expression: raising at its first mistake would hide the others.
    Inside this context the mistakes travel as values until `core.utils.flatten`, which knows the
    labels, raises `DefinitionErrors` with all of them.
    """
    token = _deferring.set(True)
    try:
        yield
    finally:
        _deferring.reset(token)


def is_deferring() -> bool:
    """Whether mistakes travel as values at the moment."""
    return _deferring.get()


def deferrable(
    stand_in: Callable[[DefinitionError], Any],
) -> Callable[[Callable[..., T]], Callable[..., T]]:
    """Make a constructor return ``stand_in(error)`` while mistakes are deferred."""

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        @wraps(function)
        def wrapper(*args: Any, **kwargs: Any) -> T:
            try:
                return function(*args, **kwargs)
            except DefinitionError as error:
                if not is_deferring():
                    raise
                return stand_in(error)  # type: ignore[no-any-return]

        return wrapper

    return decorate


def quoted(value: object, limit: int = 60) -> str:
    """``value`` as an error shows it: text in quotes on one line, anything else with its type."""
    if not isinstance(value, str):
        return f"{_one_line(repr(value), limit)} ({type(value).__name__})"
    return f'"{_one_line(value, limit)}"'


def _one_line(text: str, limit: int) -> str:
    line = " ⏎ ".join(part.strip() for part in text.strip().splitlines())
    return line if len(line) <= limit else line[: limit - 1] + "…"
