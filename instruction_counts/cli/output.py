"""Where what a command found goes: to the screen, and to files in the form that each asks for."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable
from functools import wraps
from pathlib import Path
from typing import Any, TypeAlias

import attrs
import click

from instruction_counts.cli import console
from instruction_counts.cli.option_types import FILE
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.records import Complete, Run, as_it_is
from instruction_counts.report.document import Document
from instruction_counts.report.renderers import (
    Content,
    Renderer,
    renderer_for,
    renderer_named,
    renderer_of,
    renderers,
)
from instruction_counts.storage.json_files import json_parts
from instruction_counts.system.files import check_writable, write_output

ResultFile: TypeAlias = Callable[[], Iterable[str]]
_STDOUT = Path("-")


@attrs.frozen
class Destination:
    """A file, or standard output (``-``), and the form of what is written to it."""

    path: Path
    renderer: Renderer
    option: str = "--output"
    """What the user wrote before the name, for messages."""

    @classmethod
    def of(
        cls,
        path: Path,
        form: str | None = None,
        having: Collection[str] = (),
        option: str = "--output",
    ) -> Destination:
        """What the suffix of ``path`` says; ``form`` is for names that say nothing, as ``-``.

        ``having`` are the optional fields of the documents that will be written to it.

        Raises:
            UsageError: neither says it, or no file can be written there.
        """
        named = f"{option} {path}".strip()
        if form is None and path != _STDOUT:
            renderer = renderer_for(path.name, having, named)
        else:
            renderer = renderer_of(path.name, having) or renderer_named(form or "text")
        if path != _STDOUT:
            if not path.parent.is_dir():
                raise UsageError(f"{named}: there is no folder {path.parent}", "Create it first.")
            check_writable(path, option)
        return cls(path, renderer, option)

    @property
    def is_stdout(self) -> bool:
        """Whether it is standard output."""
        return self.path == _STDOUT

    def write(self, document: Document) -> None:
        """Write the document.

        Raises:
            UsageError: the file cannot be written.
        """
        self.write_content(self.renderer.render(document))

    def write_content(self, content: Content) -> None:
        """Write what was rendered already, whole and atomically.

        Raises:
            UsageError: the file cannot be written.
        """
        if self.is_stdout:
            console.write(content if isinstance(content, str) else "".join(map(str, content)))
        else:
            write_output(self.path, content, self.option)


@attrs.frozen
class Outputs:
    """Where a command was asked to put what it found."""

    destinations: tuple[Destination, ...] = ()

    @property
    def takes_stdout(self) -> bool:
        """Whether standard output is for a program: all else goes to standard error then."""
        return any(destination.is_stdout for destination in self.destinations)

    def needs(self, field: str) -> bool:
        """Whether something is rendered from that optional field of the document."""
        return any(
            field in {destination.renderer.needs, destination.renderer.shows}
            for destination in self.destinations
        )

    def write(
        self,
        document: Document,
        limit: int | None = None,
        result_file: ResultFile | None = None,
    ) -> None:
        """Show the document, and only then write the files: what it says is not lost with them.

        ``result_file`` is the JSON of a run.

        Raises:
            UsageError: a file cannot be written.
        """
        self.show(document, limit, result_file)
        for destination in self.destinations:
            if not destination.is_stdout:
                _send(destination, document, result_file)
                self.say(f"Saved: {destination.path}")

    def show(
        self,
        document: Document,
        limit: int | None = None,
        result_file: ResultFile | None = None,
    ) -> None:
        """Show the document without writing files."""
        for destination in self.destinations:
            if destination.is_stdout:
                _send(destination, document, result_file)
        if not self.takes_stdout:
            console.show(document, limit)

    def exporters(
        self, shown: Callable[[Run], Document], more: Iterable[Path] = ()
    ) -> dict[Path, Exporter]:
        """What writes a growing run to each of the files, and to ``more`` of them.

        Raises:
            UsageError: one of ``more`` cannot be written.
        """
        destinations = (*self.destinations, *map(Destination.of, more))
        files = (destination for destination in destinations if not destination.is_stdout)
        return {destination.path: Exporter(destination, shown) for destination in files}

    def say(self, text: str) -> None:
        """One line for people."""
        if self.takes_stdout:
            console.note(text)
        else:
            console.line(text)


def _send(destination: Destination, document: Document, result_file: ResultFile | None) -> None:
    if result_file is not None and destination.renderer.name == "json":
        destination.write_content(result_file())
    else:
        destination.write(document)


def output_options(*having: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add ``--output`` and ``--format``; the command gets ``outputs``.

    ``having`` are the optional fields of its documents: ``tests`` for JUnit, ``profiles`` for
    flame graphs.
    """
    known = renderers(having)
    suffixes = ", ".join(end for entry in known for end in entry.suffixes)

    def decorate(function: Callable[..., Any]) -> Callable[..., Any]:
        @click.option(
            "--output",
            type=FILE,
            multiple=True,
            metavar="FILE",
            help="Also write a file, in the format of its suffix. "
            f"Suffixes: {suffixes}; each also with .gz. Repeatable.",
        )
        @click.option(
            "--format",
            "form",
            type=click.Choice([entry.name for entry in known]),
            metavar="NAME",
            help="Format of standard output: text, json, html. "
            f"All: {', '.join(entry.name for entry in known)}; also for an --output whose name "
            "does not say it.  [default: text]",
        )
        @wraps(function)
        def wrapper(*args: Any, output: tuple[Path, ...], form: str | None, **kwargs: Any) -> Any:
            paths = dict.fromkeys(output)
            if form not in {None, "text"} and all(renderer_of(path.name, having) for path in paths):
                paths[_STDOUT] = None
            found = tuple(Destination.of(path, form, having) for path in paths)
            return function(*args, outputs=Outputs(found), **kwargs)

        return wrapper

    return decorate


class Exporter:
    """Writes a growing run to a file, whole and atomically, while it grows.

    JSON is the result file, a case at a time, with the details of outcomes; others show the
    document that ``shown`` makes of a run.
    """

    def __init__(
        self,
        destination: Destination,
        shown: Callable[[Run], Document],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.destination = destination
        self._shown, self._clock = shown, clock
        self._next = clock()

    def update(self, run: Run, *, final: bool = False, complete: Complete = as_it_is) -> None:
        """Write ``run``, which holds what it held before and perhaps more.

        A large file is not rewritten for each case: writing takes 5% of the time at most, and the
        last state is always written. ``complete`` gives a record with its details; it is asked
        only for JSON.

        Raises:
            UsageError: the file cannot be written.
        """
        begin = self._clock()
        if final or begin >= self._next:
            if self.destination.renderer.name == "json":
                self.destination.write_content(json_parts(run, complete))
            else:
                self.destination.write(self._shown(run))
            end = self._clock()
            self._next = end + 20 * (end - begin)
