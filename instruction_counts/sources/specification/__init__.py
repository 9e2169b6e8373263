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
from instruction_counts.reading.documents import read
from instruction_counts.reading.structure import located, require_version, structured
from instruction_counts.sources.specification.expansion import expanded
from instruction_counts.sources.specification.values import CONVERTER, File, Reporters

VERSION = 1
REMEDY = "See docs/reference/specifications.md."

require_version(CONVERTER, File, "version", VERSION)


@attrs.frozen
class Specification:
    """A whole file, expanded; its mistakes are reported before anything is measured."""

    file: Path
    name: str
    builds: tuple[Build, ...]
    timeout_s: float | None
    reporters: Reporters
    benchmarks: Mapping[Label, GroupedBenchmark] = attrs.field(hash=False)

    def __str__(self) -> str:
        return str(self.file)

    def cases(self) -> tuple[Case, ...]:
        """Its cases."""
        return materialize(self.benchmarks)


def read_specification(path: Path) -> Specification:
    """The specification in a YAML or JSON file, expanded.

    Raises:
        UsageError: there is no such file.
        DataError: it holds problems: all of its form, or else all of what its entries become; each
            with its place.
    """
    if not path.is_file():
        raise UsageError(f"--definitions: file not found: {path}", REMEDY)
    root = read(path, REMEDY)
    file = structured(root, File, CONVERTER)
    name = file.name or path.stem
    groups, mistakes = expanded(file.benchmarks, name, file.seed)
    if mistakes:
        raise located(root, mistakes)
    return Specification(path, name, file.builds, file.timeout, file.reporters, groups)
