"""Where what a command found goes: to the screen, and to files in the form that each asks for."""

import os
import time
from collections.abc import Callable, Collection, Iterable, Iterator
from pathlib import Path

import attrs
import click

from instruction_counts.cli import console
from instruction_counts.cli.options import FILE, Decorator, choice, gathered, several
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.records import Run
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
from instruction_counts.system.files import check_writable, is_stream, write_output

STDOUT = Path("-")


def check_folder(path: Path, named: str) -> None:
    """Refuse a file that has no folder; ``named`` is how the user wrote it.

    Raises:
        UsageError: there is none.
    """
    for folder in (path.parent, Path(os.path.realpath(path)).parent):  # of a link and its target
        if not folder.is_dir():
            raise UsageError(f"{named}: there is no folder {folder}", "Create it first.")


@attrs.frozen
class Destination:
    """A file, or standard output (``-``), and the form of what is written to it."""

    path: Path
    renderer: Renderer

    @classmethod
    def of(cls, path: Path, form: str | None = None, having: Collection[str] = ()) -> "Destination":
        """What the suffix of ``path`` says; ``form`` is for names that say nothing, as ``-``.

        ``having`` are the optional fields of the documents that will be written to it.

        Raises:
            UsageError: neither says it, or no file can be written there.
        """
        if form is None and path != STDOUT:
            renderer = renderer_for(path.name, having, f"--output {path}")
        else:
            renderer = renderer_of(path.name, having) or renderer_named(form or "text")
        if path != STDOUT:
            check_folder(path, f"--output {path}")
            check_writable(path, "--output")
        return cls(path, renderer)

    @property
    def is_stdout(self) -> bool:
        """Whether it is standard output."""
        return self.path == STDOUT

    def write(self, document: Callable[[], Document], run: Run | None = None) -> None:
        """Write a document, or as JSON the file of ``run`` where there is one; files atomically.

        Raises:
            UsageError: the file cannot be written.
        """
        content: Content
        if run is not None and self.renderer.name == "json":
            content = json_parts(run)
        else:
            content = self.renderer.render(document())
        if self.is_stdout:
            text = content if isinstance(content, str) else "".join(content)
            (console.write if self.renderer.name == "text" else console.write_utf8)(text)
        else:
            write_output(self.path, content, "--output")


@attrs.frozen
class Outputs:
    """Where a command was asked to put what it found."""

    destinations: tuple[Destination, ...] = ()
    limit: int | None = None
    """How many rows of a long table are shown; see `console.show`."""

    @property
    def takes_stdout(self) -> bool:
        """Whether standard output is for a program: all else goes to standard error then."""
        return any(destination.is_stdout for destination in self.destinations)

    def refuse_over(self, inputs: Iterable[str | Path]) -> None:
        """Refuse to write to files that are read: what they hold would be lost.

        ``inputs`` are as they were named: files, with or without a build behind a colon, or others.

        Raises:
            UsageError: one is such a file.
        """
        names = {part for name in map(str, inputs) for part in (name, name.rpartition(":")[0])}
        read = {os.path.realpath(name) for name in names if name}
        for destination in self.destinations:
            if os.path.realpath(destination.path) in read:
                raise UsageError(
                    f"--output {destination.path} is a file that is read", "Choose another one."
                )

    def needs(self, field: str) -> bool:
        """Whether something is rendered from that optional field of the document."""
        used = (destination.renderer for destination in self.destinations)
        return any(field in {renderer.needs, renderer.shows} for renderer in used)

    def write(self, document: Document, run: Run | None = None) -> None:
        """Show the document, and only then write the files: what it says is not lost with them.

        It is that of ``run``, where there is one: JSON is the file of the run then.

        Raises:
            UsageError: a file cannot be written.
        """
        self.show(document, run)
        for destination in self.destinations:
            if not destination.is_stdout:
                destination.write(lambda: document, run)
                self.say(f"Saved: {destination.path}")

    def show(self, document: Document, run: Run | None = None) -> None:
        """Show the document without writing files."""
        if not self.takes_stdout:
            console.show(document, self.limit)
        for destination in self.destinations:
            if destination.is_stdout:
                destination.write(lambda: document, run)

    def exporters(self, more: Iterable[Path] = ()) -> "tuple[Exporter, ...]":
        """What writes a growing run to each of the files, and to ``more`` of them.

        Raises:
            UsageError: one of ``more`` cannot be written.
        """
        destinations = (*self.destinations, *map(Destination.of, more))
        return tuple(Exporter(each) for each in destinations if not each.is_stdout)

    def say(self, text: str) -> None:
        """One line for people."""
        (console.note if self.takes_stdout else console.line)(text)


def output_options(*having: str) -> Decorator:
    """The options ``--output`` and ``--format``; the command gets ``outputs``, with its ``limit``.

    ``having`` are the optional fields of its documents: ``tests`` for JUnit, ``profiles`` for
    flame graphs.
    """
    known = renderers(having)
    suffixes = ", ".join(end for entry in known for end in entry.suffixes)

    def outputs(output: tuple[Path, ...], form: str | None, limit: int | None = None) -> Outputs:
        paths = dict.fromkeys(output)
        if form not in {None, "text"} and all(renderer_of(path.name, having) for path in paths):
            paths[STDOUT] = None
        found = Outputs(tuple(Destination.of(path, form, having) for path in paths), limit)
        found.refuse_over(_named_elsewhere())
        return found

    names = [entry.name for entry in known]
    options = (
        several(
            "--output",
            "FILE",
            "Also write a file, in the format of its suffix. "
            f"Suffixes: {suffixes}; each also with .gz.",
            type=FILE,
        ),
        choice(
            "--format form",
            names,
            f"Format of standard output: text, json, html. All: {', '.join(names)}; also for an "
            "--output whose name does not say it.  [default: text]",
            metavar="NAME",
        ),
    )
    return gathered("outputs", options, outputs)


_GONE_ON_FROM = frozenset({"output", "resume", "previous"})
"""Parameters that may name the same file: it is read, and then written anew with what it held."""


def _named_elsewhere() -> Iterator[str | Path]:
    """What other parameters of the command name, files or not."""
    for name, value in click.get_current_context().params.items():
        if name not in _GONE_ON_FROM:
            values = value if isinstance(value, tuple) else (value,)
            yield from (each for each in values if isinstance(each, str | Path))


class Exporter:
    """Writes a growing run to a file, whole and atomically, while it grows.

    JSON is the result file, a case at a time, with the details of outcomes.
    """

    def __init__(
        self, destination: Destination, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.destination, self._clock, self._next = destination, clock, clock()

    def update(self, run: Run, *, final: bool = False) -> None:
        """Write ``run``, which holds what it held before and perhaps more.

        A large file is not rewritten for each case: writing takes 5% of the time at most, and the
        last state is always written. Details are read for JSON alone.

        Raises:
            UsageError: the file cannot be written.
        """
        from instruction_counts.report.run import run_document  # noqa: PLC0415 - start-up

        begin = self._clock()
        if final or (begin >= self._next and not is_stream(self.destination.path)):
            self.destination.write(lambda: run_document(run), run)
            end = self._clock()
            self._next = end + 20 * (end - begin)
