"""What classes say of files, and what is said where a value is something else.

`instruction_counts.reading.structure` describes how they are used.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Annotated, Any, TypeAlias, TypeVar

import attrs

from instruction_counts.reading.nodes import one_of

T = TypeVar("T")
Steps: TypeAlias = tuple[str | int, ...]


class Mismatch(ValueError):  # noqa: N818 - a finding, which gets its place later
    """A value is not what was expected; ``at`` leads from where it was read to the value."""

    def __init__(self, expected: str, found: str | None = None, at: Steps = ()) -> None:
        super().__init__(expected, found, at)
        self.expected, self.found, self.at = expected, found, at


def refuse(mismatches: Iterable[Mismatch]) -> None:
    """Raise all of them at once, if there are any."""
    found = tuple(mismatches)
    if found:
        raise ExceptionGroup("mismatches", found)


@attrs.frozen
class Check:
    """What a value has to fulfil beside its type: ``Annotated[int, Check(…)]``."""

    holds: Callable[[Any], object]
    expected: str | Callable[[Any], str]
    """As an error says it, or what makes it of the value."""
    found: str | None = None
    """What an error calls the value, where it is not shown as it is."""

    def mismatch(self, value: Any) -> Mismatch:
        """That ``value`` does not fulfil it."""
        expected = self.expected if isinstance(self.expected, str) else self.expected(value)
        return Mismatch(expected, self.found)


@attrs.frozen
class Parsed:
    """A value that a function makes of the plain one, and refuses by a ValueError."""

    parse: Callable[[Any], Any]
    expected: str = ""
    """As an error says it; what the ValueError says where this is empty."""

    def __call__(self, value: Any, _: Any = None) -> Any:
        """The value, as a hook of a converter."""
        try:
            return self.parse(value)
        except Mismatch:
            raise
        except ValueError as error:
            raise Mismatch(self.expected or str(error)) from error


def among(options: Collection[str]) -> Check:
    """For one of several words, which may become more; the nearest is offered."""
    return Check(lambda word: word in options, lambda word: one_of(options, word))


Text: TypeAlias = Annotated[str, Check(str.strip, "a non-empty string")]
ALONE, INLINE = object(), object()
Several: TypeAlias = Annotated[tuple[T, ...], ALONE]
Inline: TypeAlias = Annotated[T, INLINE]
