"""The sources of cases: what ``--definitions`` reads beside Python.

A further source is a file with a class that has ``cases()``, and one entry here. Entries import
what they open only when it is asked for: it would cost every start otherwise.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Protocol

import attrs

from instruction_counts.core.types import Case
from instruction_counts.domain.registry import Registry


class Source(Protocol):
    """Something else than a module that cases come from, such as operators."""

    def cases(self) -> tuple[Case, ...]:
        """Its cases."""


@attrs.frozen
class SourceEntry:
    """A source as it is registered."""

    name: str
    suffixes: tuple[str, ...]
    """The files of ``--definitions`` that `open_file` reads."""
    open_file: Callable[[Path], Source] = attrs.field(eq=False)


def _specification(path: Path) -> Source:
    from instruction_counts.sources.specification.expansion import read_specification  # noqa: PLC0415

    return read_specification(path)


_SOURCES = Registry(
    "source", SourceEntry("specification", (".yaml", ".yml", ".json"), _specification)
)
register = _SOURCES.register


def file_source(name: str) -> Source | None:
    """The source that a file holds; None where no entry reads files of that suffix.

    Raises:
        UsageError: there is no such file.
        DataError: it holds mistakes.
    """
    for entry in _SOURCES.entries():
        if name.endswith(entry.suffixes):
            return entry.open_file(Path(name))
    return None
