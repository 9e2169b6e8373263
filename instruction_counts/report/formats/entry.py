"""What a report format says of itself, and the values that a format can show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeAlias

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.gate.gate import Gate

Content: TypeAlias = str | bytes | Iterable[str | bytes]
"""What a file holds; parts where the whole may not fit into memory."""


@attrs.frozen
class ComparisonReport:
    """Two builds, compared."""

    comparison: Comparison


@attrs.frozen
class CheckReport:
    """A comparison with a baseline, held against limits."""

    gate: Gate


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
