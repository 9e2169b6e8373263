"""The error of the DSL, and how it shows what it found and what it expected."""

import difflib
from collections.abc import Collection

import attrs


@attrs.define(eq=False)
class DefinitionError(ValueError):
    """One mistake in a benchmark definition.

    ``field`` is the argument that is wrong, ``found`` what it holds (shown as it is), ``expected``
    what it should hold. ``label`` is the path of the benchmark and ``source`` the file and line,
    as far as they are known: a constructor knows neither, `core.utils.flatten` knows the label.
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


def require(field: str, value: object, holds: object, expected: str) -> None:
    """Refuse what an argument holds where it is not as it has to be."""
    if not holds:
        raise DefinitionError(field, quoted(value), expected)


def quoted(value: object, limit: int = 60) -> str:
    """``value`` as an error shows it: text in quotes on one line, anything else with its type."""
    if not isinstance(value, str):
        return f"{_one_line(repr(value), limit)} ({type(value).__name__})"
    return f'"{_one_line(value, limit)}"'


def _one_line(text: str, limit: int) -> str:
    line = " ⏎ ".join(part.strip() for part in text.strip().splitlines())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def one_of(options: Collection[str], asked: object = None) -> str:
    """What is possible, and what is nearest to what was asked for."""
    near = difflib.get_close_matches(str(asked), options, n=1)
    hint = f"; did you mean {near[0]}?" if near else ""
    return f"one of {', '.join(options)}{hint}" if options else "nothing"
