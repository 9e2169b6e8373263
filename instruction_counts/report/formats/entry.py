"""What a report format says of itself, and the values that a format can show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import attrs

from instruction_counts.domain.causes import Cause
from instruction_counts.domain.stored import StoredCount
from instruction_counts.history.bisection import Bisection
from instruction_counts.history.candidates import Candidates
from instruction_counts.history.series import Series
from instruction_counts.sources.operators.coverage import Coverage

Content: TypeAlias = str | bytes | Iterable[str | bytes]
"""What a file holds; parts where the whole may not fit into memory."""

StepCauses: TypeAlias = Mapping[tuple[StoredCount, StoredCount], Sequence[Cause]]
"""What caused the steps of a history, by the counts before and after each."""


@attrs.frozen
class HistoryReport:
    """Counts over the stored runs."""

    series: Sequence[Series]
    causes: StepCauses


@attrs.frozen
class BisectionReport:
    """The changes of a case between builds."""

    names: Sequence[str]
    """The builds, in their order."""
    candidates: Candidates
    result: Bisection


@attrs.frozen
class CoverageReport:
    """The public operators of a build without an entry."""

    categories: Sequence[Coverage]
    build: str


@attrs.frozen
class Format:
    """A report format: its name, the ends of its files' names, and how it shows what it can show.

    A suffix that ends in ``.gz`` stands for the same content, compressed.
    """

    name: str
    suffixes: tuple[str, ...]
    renderers: Mapping[type[Any], Callable[[Any], Content]]
    """By the type of what is shown: `Run`, or a report of this module or of `report.explain`."""
    needs_details: bool = False
    """Whether it shows the costs by function or the single times of a `Run`, which are large."""

    def shows(self, kind: type[Any]) -> bool:
        """Whether values of that type can be shown."""
        return kind in self.renderers

    def render(self, report: Any) -> Content:
        """The content for ``report``, a value that the format can show."""
        return self.renderers[type(report)](report)
