"""What a case executes on one side, and where its instructions go."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import TypeAlias

import attrs
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from core.types import CaseKey
from instruction_counts.analysis.attribution.function_changes import FunctionDifference
from instruction_counts.analysis.attribution.names import short
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.executed import Executed
from instruction_counts.domain.outcomes import Instructions
from instruction_counts.report import format as fmt
from instruction_counts.report.executed import SECTIONS, not_stored

_NARROWEST_NAME = 16
_BESIDE_NAME = 46
"""Columns that the numbers and the layer beside a name take."""
_BESIDE_PLACE = 26
"""The same beside a Python function, which has no layer."""

_Row: TypeAlias = tuple[str, Fraction | int, str]
"""A name, its amount, and a remark."""


@attrs.frozen
class Breakdown:
    """One case on one side, for a terminal or a pipe."""

    key: CaseKey
    side: Side
    spent: FunctionDifference
    """From nothing to all that the case spends."""
    sections: tuple[str, ...] = (*SECTIONS, "layer", "library", "function")
    limit: int = 15
    """Of functions, and of operators; 0 shows all."""

    @property
    def count(self) -> Instructions:
        """The count of the case."""
        counted = self.side.records[self.key].outcome.instructions
        assert counted is not None, "a case that was not counted is not explained"
        return counted

    @property
    def executed(self) -> Executed | None:
        """What an iteration executes; None where that was not stored."""
        return self.side.records[self.key].outcome.executed

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """What rich prints."""
        del console
        yield Text(self.key.title, style="bold")
        torch = self.side.fingerprint.torch
        yield Text(f"  {self.side.title}   torch {torch}   {fmt.count(self.count)} instructions")
        for table in self._tables(options.max_width):
            yield Text()
            yield table

    def _tables(self, width: int) -> Iterator[RenderableType]:
        if self.executed is not None:
            yield from self._executed(self.executed, width)
        elif set(SECTIONS) & set(self.sections):
            yield Text(not_stored([self.side.title]))
        for name, shares in (
            ("layer", self.spent.by_layer()),
            ("library", self.spent.by_library()),
        ):
            if name in self.sections:
                rows = [(share.title, share.new, "") for share in shares if share.new]
                yield _table(f"by {name}", "instructions", rows)
        if "function" in self.sections:
            functions = [function for function in self.spent.functions if function.new]
            room = max(_NARROWEST_NAME, width - _BESIDE_NAME)
            rows = [
                (
                    short(function.key.name, room),
                    function.new or Fraction(),
                    function.key.layer.value,
                )
                for function in functions
            ]
            yield self._limited("by function", "instructions", rows)

    def _executed(self, executed: Executed, width: int) -> Iterator[RenderableType]:
        if "python" in self.sections and executed.functions is not None:
            room = max(_NARROWEST_NAME, width - _BESIDE_PLACE)
            largest = sorted(executed.functions, key=lambda function: -function.bytecodes)
            places = [
                (_end(f"{function.place} {function.name}", room), function.bytecodes, "")
                for function in largest
            ]
            yield self._limited("by Python function", "bytecodes", places)
        if "operator" in self.sections:
            most = sorted(executed.operators, key=lambda operator: -operator.calls)
            rows = [
                (operator.name, operator.calls, "backward" if operator.backward else "")
                for operator in most
            ]
            yield self._limited("by operator", "calls", rows)

    def _limited(self, title: str, unit: str, rows: Sequence[_Row]) -> Table:
        kept, rest = rows[: self.limit or None], rows[self.limit :] if self.limit else []
        if rest:
            amount = Fraction(sum(amount for _, amount, _ in rest))
            return _table(
                f"{title} ({len(kept)} of {len(rows)})",
                unit,
                [*kept, (f"… and {len(rest)} more", amount, "")],
            )
        return _table(f"{title} ({len(rows)})", unit, rows)


def _table(title: str, unit: str, rows: Sequence[_Row]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column(Text(title, style="bold"), no_wrap=True, overflow="ellipsis")
    table.add_column(Text(unit, style="bold"), justify="right", no_wrap=True)
    table.add_column(Text("share", style="bold"), justify="right", no_wrap=True)
    table.add_column("", no_wrap=True, style="dim")
    total = Fraction(sum(amount for _, amount, _ in rows))
    for name, amount, remark in rows:
        table.add_row(Text(f"  {name}"), f"{round(amount):,}", _share(amount, total), Text(remark))
    table.add_row(Text("  sum"), f"{round(total):,}", _share(total, total), "", style="bold")
    return table


def _share(amount: Fraction | int, total: Fraction) -> str:
    return f"{float(100 * amount / total):.1f}%" if total else ""


def _end(text: str, room: int) -> str:
    """The last of ``text``: the name of a function follows its folders."""
    return text if len(text) <= room else f"…{text[1 - room :]}"
