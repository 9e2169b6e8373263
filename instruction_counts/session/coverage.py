"""Which operators of a build have an entry in a file of operators."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from instruction_counts.domain.build import Build
from instruction_counts.sources.operators.catalogue import load_public_operators
from instruction_counts.sources.operators.coverage import Coverage, coverage, in_categories
from instruction_counts.sources.operators.reading import read_operators
from instruction_counts.sources.operators.source import standard_file
from instruction_counts.system.cache import Cache


def find_coverage(
    build: Build, categories: Sequence[str] = (), file: Path | None = None
) -> tuple[Coverage, ...]:
    """The coverage of the public operators of ``build``, all or those of some categories.

    Raises:
        BuildError: the build cannot be asked.
        DataError: the file of operators is not one.
        UsageError: there is no such category.
    """
    entries = read_operators(file or standard_file())
    public = in_categories(load_public_operators(build, Cache()), categories)
    return coverage(public, entries)
