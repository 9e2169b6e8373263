"""A specification as a source of cases: checked as a whole, each mistake with its place."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import attrs

from instruction_counts.core.api import GroupedBenchmark
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case, Label
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.reading.documents import Node, read
from instruction_counts.reading.structure import require_version, structured
from instruction_counts.sources.specification.expansion import Problems, expanded
from instruction_counts.sources.specification.values import CONVERTER, Entry, File, Reporters

VERSION = 1
REMEDY = "See docs/reference/specifications.md."

require_version(CONVERTER, File, "version", VERSION)


@attrs.frozen
class Specification:
    """A whole file, expanded."""

    file: Path
    name: str
    builds: tuple[Build, ...]
    timeout_s: float | None
    reporters: Reporters
    benchmarks: Mapping[Label, GroupedBenchmark] = attrs.field(hash=False)


@attrs.frozen
class SpecificationSource:
    """A specification; its mistakes are reported before anything is measured."""

    specification: Specification

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
    file = None
    with problems.noted(root):
        file = structured(root, File, CONVERTER)
    # What follows from a mistake is none of its own: only what is right is looked at further.
    entries: list[tuple[Node, Entry]] = []
    benchmarks = root.below("benchmarks").value
    for place in range(len(benchmarks) if isinstance(benchmarks, list) else 0):
        node = root.below("benchmarks", place)
        with problems.noted(node):
            entry = structured(node, Entry, CONVERTER)
            entries.append((node, entry))
            if entry.id in {other.id for _, other in entries[:-1]}:
                raise node.below("id").unlike("unique ids", f'"{entry.id}" again')
    name, seed = (path.stem, 0) if file is None else (file.name or path.stem, file.seed)
    groups = expanded(entries, name, seed, problems)
    problems.raise_any(REMEDY)
    assert file is not None, "else there is a problem"
    return Specification(path, name, file.builds, file.timeout, file.reporters, groups)
