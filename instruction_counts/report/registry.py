"""The report formats that there are, and which of them the name of a file asks for."""

from __future__ import annotations

import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs

from instruction_counts.domain.errors import UsageError
from instruction_counts.report.formats import csv, json, markdown
from instruction_counts.report.formats.entry import Content, Format
from instruction_counts.system.files import unwritable, write_atomically

_FORMATS: dict[str, Format] = {}

_GZIP = 16
"""Added to the size of the window, it makes zlib write gzip's format: with no time of its own."""


def register(entry: Format) -> None:
    """Make a format known.

    Raises:
        ValueError: its name or one of its suffixes is taken.
    """
    taken = {suffix for known in _FORMATS.values() for suffix in known.suffixes}
    if entry.name in _FORMATS or taken & set(entry.suffixes):
        raise ValueError(f"a format called {entry.name}, or one of its suffixes, is already known")
    _FORMATS[entry.name] = entry


def unregister(name: str) -> None:
    """Forget the format of that name."""
    del _FORMATS[name]


def names_for(kind: type[Any]) -> tuple[str, ...]:
    """The names of the formats that show values of that type."""
    return tuple(name for name, entry in _FORMATS.items() if entry.shows(kind))


def suffixes_for(kind: type[Any]) -> tuple[str, ...]:
    """The ends of the names of files that can show values of that type."""
    return tuple(end for entry in _FORMATS.values() if entry.shows(kind) for end in entry.suffixes)


def render(name: str, report: Any) -> Content:
    """``report`` in the format of that name."""
    return _FORMATS[name].render(report)


@attrs.frozen
class Destination:
    """A file that one kind of report is written to."""

    path: Path
    option: str
    """What the user wrote before the name, for messages."""
    format: Format
    compressed: bool

    @classmethod
    def of(cls, path: Path, kind: type[Any], option: str = "--output") -> Destination:
        """Where ``path`` says that a report of that type is written to, and in which format.

        Raises:
            UsageError: no format with such a suffix shows it, or the folder does not exist.
        """
        known = suffixes_for(kind)
        suffix = next((end for end in known if path.name.endswith(end) and path.name != end), None)
        if suffix is None:
            named = f"{option} {path}".strip()
            raise UsageError(f"{named}: unknown format", f"End the name in {', '.join(known)}.")
        entry = next(form for form in _FORMATS.values() if suffix in form.suffixes)
        return cls._checked(path, option, entry, compressed=suffix.endswith(".gz"))

    @classmethod
    def in_format(cls, name: str, path: Path, option: str) -> Destination:
        """A file in the format of that name, whatever the file is called.

        Raises:
            UsageError: the folder does not exist.
        """
        return cls._checked(path, option, _FORMATS[name], compressed=False)

    @classmethod
    def _checked(cls, path: Path, option: str, entry: Format, *, compressed: bool) -> Destination:
        if not path.parent.is_dir():
            named = f"{option} {path}".strip()
            raise UsageError(f"{named}: there is no folder {path.parent}", "Make it first.")
        return cls(path, option, entry, compressed)

    def write(self, report: Any) -> Path:
        """Write ``report``, whole and atomically; returns the path.

        Raises:
            UsageError: the file cannot be written.
        """
        content = self.format.render(report)
        try:
            write_atomically(self.path, _bytes(content, compressed=self.compressed))
        except OSError as error:
            raise unwritable(self.path, self.option, error) from error
        return self.path


def _bytes(content: Content, *, compressed: bool) -> Iterator[bytes]:
    """``content`` as a file holds it; the same content always gives the same bytes.

    What no file can hold, as half of a surrogate pair, is spelled out.
    """
    parts: Iterable[str | bytes] = [content] if isinstance(content, str | bytes) else content
    encoded = (
        part if isinstance(part, bytes) else part.encode(errors="backslashreplace")
        for part in parts
    )
    if not compressed:
        yield from encoded
        return
    compressor = zlib.compressobj(wbits=zlib.MAX_WBITS | _GZIP)
    for part in encoded:
        yield compressor.compress(part)
    yield compressor.flush()


for _entry in (json.FORMAT, csv.FORMAT, markdown.FORMAT):
    register(_entry)
