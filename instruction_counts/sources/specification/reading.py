"""A specification as a source of cases: checked as a whole, each mistake with its place."""

from __future__ import annotations

import hashlib
from pathlib import Path

import attrs

from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case
from instruction_counts.domain.errors import UsageError
from instruction_counts.reading.documents import read
from instruction_counts.reading.nodes import Node, Problems
from instruction_counts.reading.structure import Mismatch, located, require_version, structured
from instruction_counts.sources.specification.expansion import PlacedEntry, expanded
from instruction_counts.sources.specification.values import (
    CONVERTER,
    Entry,
    File,
    Model,
    Reporters,
    Specification,
)

VERSION = 1
REMEDY = "See docs/reference/specifications.md."

require_version(CONVERTER, File, "version", VERSION)


@attrs.frozen
class SpecificationSource:
    """A specification; its mistakes are reported before anything is measured."""

    specification: Specification

    @classmethod
    def at(cls, path: Path) -> SpecificationSource:
        """The specification in a file.

        Raises:
            UsageError: there is none.
            DataError: it holds problems.
        """
        return cls(read_specification(path))

    def __str__(self) -> str:
        return str(self.specification.file)

    def cases(self) -> tuple[Case, ...]:
        """Its cases."""
        return materialize(self.specification.benchmarks)


def read_specification(path: Path) -> Specification:
    """The specification in a YAML or JSON file, expanded.

    Raises:
        UsageError: there is no such file.
        DataError: it holds problems: all of them, each with its place.
    """
    if not path.is_file():
        raise UsageError(f"--definitions: file not found: {path}", REMEDY)
    root = read(path, REMEDY)
    problems = Problems()
    # What follows from a mistake is none of its own: only what is right is looked at further.
    file = problems.attempt(structured, root, File, CONVERTER)
    nodes = root.below(["benchmarks"]).value
    entries = [
        PlacedEntry(node, entry)
        for node in (nodes if isinstance(nodes, list) else [])
        if (entry := problems.attempt(_entry, node)) is not None
    ]
    _check_ids(entries, problems)
    name, seed = (path.stem, 0) if file is None else (file.name or path.stem, file.seed)
    benchmarks = expanded(entries, name, seed, problems)
    problems.raise_any(REMEDY)
    return Specification(
        path, name, file.builds, file.timeout, Reporters.of(file.reporters), benchmarks
    )


def _entry(node: Node) -> Entry:
    entry = structured(node, Entry, CONVERTER)
    if entry.model is not None:
        mismatch = _mismatch_of(entry.model)
        if mismatch is not None:
            raise located(node.below(["model"]), [mismatch])
    return entry


def _mismatch_of(model: Model) -> Mismatch | None:
    """What is wrong with the file of a model."""
    try:
        with model.path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        expected = "an existing file, relative to the specification"
        return Mismatch(expected, error.strerror, ("file",))
    if digest == model.sha256.lower():
        return None
    return Mismatch(f"the checksum of {model.path.name}: {digest}", model.sha256, ("sha256",))


def _check_ids(entries: list[PlacedEntry], problems: Problems) -> None:
    lines: dict[str, int] = {}
    for placed in entries:
        node = placed.node.below(["id"])
        first = lines.setdefault(placed.entry.id, node.line)
        if first != node.line:
            problems.note(node, "unique ids", f'"{placed.entry.id}" again, first in line {first}')
