"""The cases that a use case is about."""

from __future__ import annotations

from core.types import Case
from instruction_counts.domain.selection import Selection, select
from instruction_counts.sources.definitions import STANDARD, Definitions, load


def load_cases(definitions: Definitions | None, selection: Selection) -> tuple[Case, ...]:
    """The selected cases of ``definitions``; None is the standard suite.

    Raises:
        DefinitionErrors, DataError: the definitions cannot be used.
        UsageError: there are no such definitions, or the selection leaves no case.
    """
    return select(load(definitions or STANDARD), selection)
