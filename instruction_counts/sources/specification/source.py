"""A specification as a source of cases, and what it says beside them."""

from __future__ import annotations

from pathlib import Path

import attrs

from core.expand import materialize
from core.types import Case
from instruction_counts.sources.specification.reading import read_specification
from instruction_counts.sources.specification.values import Specification


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
