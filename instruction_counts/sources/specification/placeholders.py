"""Placeholders: a few words in braces, each of which stands for one text, and nothing else.

No expression is evaluated and no attribute looked up. In code, braces that are no placeholder stay
as they are, since C++ is full of them.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping, Sequence

import attrs

from instruction_counts.sources.operators.entries import Shape

_LONGEST = 9  # digits; Python reads a few thousand
_WORD = re.compile(r"\{([A-Za-z_]\w*)\}")
_OF_INPUT = re.compile(r"\{([A-Za-z_]\w*)\.(\w+)(?:\[(\d+)\])?\}")
_IN_LABEL = re.compile(r"\{[^{}]*\}|[{}]")


class PlaceholderError(ValueError):
    """A placeholder that stands for nothing."""

    def __init__(self, found: str, expected: str) -> None:
        super().__init__(found)
        self.found, self.expected = found, expected


@attrs.frozen
class Expansion:
    """One of the shapes and dtypes of an entry: what its placeholders stand for."""

    number: int
    """From 1."""
    shapes: Mapping[str, Shape]
    """Of each input, in their order."""
    dtypes: Mapping[str, str]

    def in_label(self, text: str) -> str:
        """``text`` with its placeholders replaced; a shape reads ``32x128``.

        Raises:
            PlaceholderError: there is another one.
        """

        def replaced(match: re.Match[str]) -> str:
            whole = match[0]
            if found := _WORD.fullmatch(whole):
                return self._word(found[1])
            if found := _OF_INPUT.fullmatch(whole):
                return self._of_input(found, "x")
            raise PlaceholderError(whole, f"one of {', '.join(self._known())}")

        return _IN_LABEL.sub(replaced, text)

    def in_code(self, text: str) -> str:
        """The same for code; a shape reads ``32, 128``, and other braces stay.

        Raises:
            PlaceholderError: something of an input is asked for that it has not.
        """
        text = _OF_INPUT.sub(lambda match: self._of_input(match, ", "), text)
        words = {"ID", *(name for name in ("shape", "dtype") if self.shapes)}
        return _WORD.sub(
            lambda match: self._word(match[1], ", ") if match[1] in words else match[0], text
        )

    def _word(self, word: str, separator: str = "x") -> str:
        if word == "ID":
            return str(self.number)
        if word in {"shape", "dtype"} and self.shapes:
            first = next(iter(self.shapes))
            return self.dtypes[first] if word == "dtype" else _joined(self.shapes[first], separator)
        raise PlaceholderError(f"{{{word}}}", f"one of {', '.join(self._known())}")

    def _of_input(self, match: re.Match[str], separator: str) -> str:
        name, what, place = match.groups()
        if name not in self.shapes or what not in {"shape", "dtype"}:
            near = difflib.get_close_matches(match[0], self._known(), n=1)
            hint = f"; did you mean {near[0]}?" if near else ""
            raise PlaceholderError(match[0], f"one of {', '.join(self._known())}{hint}")
        if what == "dtype":
            return self.dtypes[name]
        shape = self.shapes[name]
        if place is None:
            return _joined(shape, separator)
        if len(place) > _LONGEST or int(place) >= len(shape):
            raise PlaceholderError(match[0], f"a dimension index of {list(shape)}, starting at 0")
        return str(shape[int(place)])

    def _known(self) -> list[str]:
        own = [f"{{{name}.{what}}}" for name in self.shapes for what in ("shape", "dtype")]
        return ["{ID}", *(["{shape}", "{dtype}"] if self.shapes else []), *own]


def _joined(shape: Sequence[int], separator: str) -> str:
    return separator.join(map(str, shape)) or ("scalar" if separator == "x" else "")
