"""Where the instructions of a case go on one side: by layer, by library, by function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import attrs
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from core.types import CaseKey
from instruction_counts.analysis.attribution.function_changes import FunctionDifference
from instruction_counts.analysis.attribution.names import short
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.report import format as fmt

_NARROWEST_NAME = 16
_BESIDE_NAME = 46
"""Columns that the numbers and the layer beside a name take."""


@attrs.frozen
class Breakdown:
    """One case on one side, for a terminal or a pipe."""

    key: CaseKey
    side: Side
    spent: FunctionDifference
    """From nothing to all that the case spends."""
    sections: tuple[str, ...] = ("layer", "library", "function")
    limit: int = 15
    """Of functions; 0 shows all."""

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """What rich prints."""
        del console
        yield Text(self.key.title, style="bold")
        counted = self.side.records[self.key].outcome.instructions
        assert counted is not None, "a case that was not counted is not explained"
        torch = self.side.fingerprint.torch
        yield Text(f"  {self.side.title}   torch {torch}   {fmt.count(counted)} instructions")
        for name, shares in (
            ("layer", self.spent.by_layer()),
            ("library", self.spent.by_library()),
        ):
            if name in self.sections:
                yield Text()
                yield self._table(f"by {name}", [(share.title, "", share.new) for share in shares])
        if "function" in self.sections:
            yield Text()
            yield self._functions(options.max_width)

    def _functions(self, width: int) -> Table:
        room = max(_NARROWEST_NAME, width - _BESIDE_NAME)
        functions = [function for function in self.spent.functions if function.new]
        kept = functions[: self.limit or None]
        rest = functions[len(kept) :]
        rows = [
            (short(function.key.name, room), function.key.layer.value, function.new or Fraction())
            for function in kept
        ]
        if rest:
            amount = sum((function.new or Fraction() for function in rest), Fraction())
            rows.append((f"… and {len(rest)} more", "", amount))
        many = f"{len(kept)} of {len(functions)}" if rest else f"{len(functions)}"
        return self._table(f"by function ({many})", rows)

    def _table(self, title: str, rows: Sequence[tuple[str, str, Fraction]]) -> Table:
        table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
        table.add_column(Text(title, style="bold"), no_wrap=True, overflow="ellipsis")
        table.add_column(Text("instructions", style="bold"), justify="right", no_wrap=True)
        table.add_column(Text("share", style="bold"), justify="right", no_wrap=True)
        table.add_column("", no_wrap=True, style="dim")
        total = self.spent.new
        for name, layer, amount in rows:
            if amount:
                table.add_row(Text(f"  {name}"), f"{round(amount):,}", _share(amount, total), layer)
        table.add_row(Text("  sum"), f"{round(total):,}", _share(total, total), "", style="bold")
        return table


def _share(amount: Fraction, total: Fraction) -> str:
    return f"{float(100 * amount / total):.1f}%" if total else ""
