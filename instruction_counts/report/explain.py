"""Where the instructions of a case went on two sides, and where the change is."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

import attrs
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from core.types import CaseKey
from instruction_counts.analysis.attribution.causes import Inlining, inlinings, nameless_libraries
from instruction_counts.analysis.attribution.function_changes import (
    CallerChange,
    FunctionChange,
    FunctionDifference,
    Share,
)
from instruction_counts.analysis.attribution.functions import shown
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.analysis.attribution.names import short
from instruction_counts.analysis.verdicts.sides import Disagreement, Side, disagreements
from instruction_counts.domain.executed import Executed
from instruction_counts.domain.metrics import ALLOCATIONS
from instruction_counts.domain.outcomes import FunctionCosts, Instructions
from instruction_counts.domain.records import Record
from instruction_counts.domain.source_lines import SourceChange
from instruction_counts.report import executed, source_lines
from instruction_counts.report import format as fmt
from instruction_counts.report.comparison import changed_files, title_of

NO_FUNCTION_CHANGED = "No function costs more or less than before."

SECTIONS = (*executed.SECTIONS, "layer", "library", "function")

_EXPLAINED_CALLERS = 3
_CALLERS = 5
_AMOUNTS = ("base", "new", "change")
_BAR = 16
_SHORTEST_BAR = 4
_LONGEST_SHARE = 30
_LONGEST_VALUE = 24
_NARROWEST_NAME = 16
_ABSENT = "–"


@attrs.frozen
class Explanation:
    """One case on two sides; it was counted on both."""

    key: CaseKey
    base: Side
    new: Side
    difference: FunctionDifference

    @property
    def records(self) -> tuple[Record, Record]:
        """The record of each side."""
        return self.base.records[self.key], self.new.records[self.key]

    @property
    def counts(self) -> tuple[Instructions, Instructions]:
        """The count of each side."""
        base, new = (record.outcome.instructions for record in self.records)
        assert base is not None, "a case that was not counted is not explained"
        assert new is not None, "a case that was not counted is not explained"
        return base, new

    @property
    def functions(self) -> tuple[FunctionCosts, FunctionCosts]:
        """The costs by function of each side."""
        base, new = (record.outcome.functions for record in self.records)
        assert base is not None, "a case that was not counted is not explained"
        assert new is not None, "a case that was not counted is not explained"
        return base, new

    @property
    def executed(self) -> tuple[Executed | None, Executed | None]:
        """What each side executes; None where that was not stored."""
        base, new = (record.outcome.executed for record in self.records)
        return base, new

    @property
    def change(self) -> int:
        """Instructions per iteration that new has more."""
        base, new = self.counts
        return new.per_run - base.per_run

    @property
    def same_definition(self) -> bool:
        """Whether both sides ran the same code."""
        base, new = self.records
        return base.definition_hash == new.definition_hash

    @property
    def without_calls(self) -> tuple[str, ...]:
        """The sides that were stored without the calls between functions."""
        sides = zip((self.base, self.new), self.functions, strict=True)
        return tuple(side.title for side, costs in sides if not costs.calls)


@attrs.frozen
class Report:
    """The explanation for a terminal or a pipe, as wide as there is room."""

    explanation: Explanation
    sections: tuple[str, ...] = SECTIONS
    limit: int = 15
    """Of functions, and of operators; 0 shows all."""
    sources: tuple[SourceChange, ...] | None = None
    """The lines of Python functions that changed; None where nobody asked for them."""

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """What rich prints."""
        del console
        yield from _head(self.explanation)
        width = options.max_width
        for block in executed_blocks(self):
            yield Text()
            yield Text(block.heading, style="bold" if block.lines else "")
            yield from (Padding(Text(line), (0, 0, 0, 2)) for line in block.lines)
        difference = self.explanation.difference
        if self.sources is not None:
            yield from source_lines.renderables(self.sources[: self.limit or None], width)
        if "layer" in self.sections:
            remarks = {Layer.ALLOCATOR.value: _allocations(self.explanation)}
            yield Text()
            yield _shares("by layer", difference.by_layer(), remarks, width)
        if "library" in self.sections:
            yield Text()
            yield _shares("by library", difference.by_library(), {}, width)
        if "function" in self.sections:
            yield from _functions(self.explanation, self.limit, width)
        yield Text()
        yield from _hints(self.explanation)


def executed_blocks(report: Report) -> Iterator[executed.Block]:
    """What both sides execute, or a line that says that this is not known."""
    wanted = [name for name in executed.SECTIONS if name in report.sections]
    base, new = report.explanation.executed
    if base is not None and new is not None:
        yield from executed.blocks(base, new, wanted, report.limit)
    elif wanted:
        sides = zip((report.explanation.base, report.explanation.new), (base, new), strict=True)
        titles = [side.title for side, known in sides if known is None]
        yield executed.Block(executed.not_stored(titles))


# ------------------------------------------------------------------------------------ head


def _head(explanation: Explanation) -> Iterator[RenderableType]:
    yield Text(title_of(explanation.key), style="bold")
    table = _table(heading=False)
    for justify in ("left", "left", "left", "right"):
        table.add_column(justify=justify, no_wrap=True)
    counts = explanation.counts
    sides = (("base", explanation.base), ("new", explanation.new))
    for (name, side), count in zip(sides, counts, strict=True):
        title = "" if side.title == name else side.title
        torch = f"torch {side.fingerprint.torch}"
        table.add_row(Text(f"  {name}"), Text(title), Text(torch), Text(fmt.count(count)))
    yield table
    yield Text.assemble("  change  ", (change(explanation), _style(explanation.change)))
    for remark in remarks_on(explanation):
        yield Padding(Text(remark), (0, 0, 0, 2))


def remarks_on(explanation: Explanation) -> Iterator[str]:
    """What to know before the numbers are believed, one line for each remark."""
    if not explanation.same_definition:
        yield "The definitions differ: the sides did not run the same code."
    differing = list(disagreements(explanation.base, explanation.new))
    if differing:
        yield f"What differs: {'; '.join(map(_disagreement, differing))}."
    sides = explanation.base, explanation.new
    doubts = {side.title: changed_files(side) for side in sides}
    yield from (f"{title}: {doubt}." for title, doubt in doubts.items() if doubt)
    for side, count in zip(sides, explanation.counts, strict=True):
        if not count.exact:
            names = ", ".join(short(name, 40) for name in count.varying)
            yield (
                f"~ {side.title}: the windows do not agree (spread {count.spread:,}"
                f"{f'; {names}' if names else ''})."
            )
    difference = explanation.difference
    nameless = nameless_libraries(difference)
    if nameless:
        named = ", ".join(f"{library} ({side})" for library, side in sorted(nameless.items()))
        yield (
            f"Most functions of {named} have no names and are shown as ???. "
            "Compare these libraries as a whole."
        )
    if abs(difference.delta - explanation.change) >= 1:
        yield (
            f"The functions' changes add up to {round(difference.delta):+,}, and not to that of "
            "the counts: the engine counted them in other windows."
        )


def _disagreement(disagreement: Disagreement) -> str:
    if max(len(disagreement.base), len(disagreement.new)) > _LONGEST_VALUE:
        return disagreement.name
    return f"{disagreement.name} ({disagreement.base or _ABSENT} → {disagreement.new or _ABSENT})"


def change(explanation: Explanation) -> str:
    """``+18 instructions per iteration, +0.20%``."""
    if not explanation.change:
        return "none"
    base = explanation.counts[0].per_run
    relative = f", {100 * explanation.change / base:+.2f}%" if base else ""
    return f"{explanation.change:+,} instructions per iteration{relative}"


def _allocations(explanation: Explanation) -> str:
    name = ALLOCATIONS.name
    before, after = (record.outcome.metrics.get(name) for record in explanation.records)
    if before is None or after is None:
        return ""
    shown = f"{before:,}" if before == after else f"{before:,} → {after:,}"
    return f"{shown} allocation{'' if before == after == 1 else 's'}"


# --------------------------------------------------------------------------------- sections


def _shares(title: str, shares: Sequence[Share], remarks: dict[str, str], width: int) -> Table:
    shares = [share for share in shares if share.base or share.new]
    rows = [(share.title, numbers(share.base, share.new)) for share in shares]
    rows.append(("sum", numbers(*sums(shares))))
    widths = _widths(_AMOUNTS, [amounts for _, amounts in rows])
    names = min(_LONGEST_SHARE, max(len(title), *(cell_len(name) + 2 for name, _ in rows)))
    remark_width = max((1 + len(remark) for remark in remarks.values() if remark), default=0)
    bar_width = min(_BAR, width - names - sum(widths) - 2 * len("    ") - remark_width)
    table = _table()
    table.add_column(Text(title, style="bold"), no_wrap=True, overflow="ellipsis", max_width=names)
    _add_amounts(table, _AMOUNTS, widths)
    table.add_column("", no_wrap=True)
    largest = max((abs(share.delta) for share in shares), default=Fraction())
    for share, (name, amounts) in zip(shares, rows, strict=False):
        bar = _bar(share.delta, largest, bar_width)
        if remarks.get(name):
            bar = Text.assemble(bar, " " * (bar_width - bar.cell_len + 1), (remarks[name], "dim"))
        table.add_row(Text(f"  {name}"), *amounts, bar)
    table.add_row(Text("  sum"), *rows[-1][1], "", style="bold")
    return table


def _bar(delta: Fraction, largest: Fraction, width: int) -> Text:
    if not round(delta) or width < _SHORTEST_BAR:
        return Text("")
    return Text("█" * max(1, round(width * abs(delta) / largest)), style=_style(delta))


def _functions(explanation: Explanation, limit: int, width: int) -> Iterator[RenderableType]:
    difference = explanation.difference
    changed = difference.changed
    if not changed:
        yield from (Text(), Text(NO_FUNCTION_CHANGED))
        return
    kept = changed[:limit] if limit else changed
    many = f"{len(kept)} of {len(changed)}" if len(kept) < len(changed) else f"{len(changed)}"
    yield from (Text(), Text(f"by function ({many} changed)", style="bold"))
    rows = [(_amounts(function), function.key.name, function.key.layer.value) for function in kept]
    rest = changed[len(kept) :]
    if rest:
        rows.append(([*numbers(*sums(rest)), Text("")], f"… and {len(rest)} more", ""))
    rows.append(([*numbers(*sums(changed)), Text("")], "sum", ""))
    yield _function_table("function", rows, width)
    renamed = ", ".join(short(function.key.name, 40) for function in kept if function.was)
    if renamed:
        yield Padding(Text(f"With other parameters than in base: {renamed}."), (0, 0, 0, 2))
    for move in inlinings(difference):
        yield Padding(Text(move_text(move)), (0, 0, 0, 2))
    explained = [function for function in kept if difference.callers(function.key)][
        :_EXPLAINED_CALLERS
    ]
    for change in explained:
        yield Text()
        yield from _callers(change, difference.callers(change.key), width)


def _callers(
    function_change: FunctionChange, callers: Sequence[CallerChange], width: int
) -> Iterator[RenderableType]:
    room = width - len("callers of , with what is below it")
    name = short(function_change.key.name, max(_NARROWEST_NAME, room))
    yield Text(f"callers of {name}, with what is below it", style="bold")
    rows = []
    for call in callers[:_CALLERS]:
        calls = calls_text(call.base_calls, call.new_calls)
        amounts = [*numbers(call.base, call.new), Text(calls)]
        rows.append((amounts, call.caller.name, call.caller.layer.value))
    if len(callers) > _CALLERS:
        rest = callers[_CALLERS:]
        rows.append(([*numbers(*sums(rest)), Text("")], f"… and {len(rest)} more", ""))
    yield _function_table("caller", rows, width)


def _function_table(
    heading: str, rows: Sequence[tuple[Sequence[Text], str, str]], width: int
) -> Table:
    widths = _widths((*_AMOUNTS, "calls"), [amounts for amounts, _, _ in rows])
    layers = max(cell_len(layer) for _, _, layer in rows)
    room = max(_NARROWEST_NAME, width - 2 - sum(widths) - 5 * 2 - layers)
    table = _table()
    _add_amounts(table, (*_AMOUNTS, "calls"), widths, indent="  ")
    table.add_column(Text(heading, style="bold"), no_wrap=True, max_width=room)
    table.add_column("", no_wrap=True, style="dim")
    for amounts, name, layer in rows:
        style = "bold" if name == "sum" else ""
        table.add_row(*amounts, Text(short(name, room)), Text(layer), style=style)
    return table


def _hints(explanation: Explanation) -> Iterator[Text]:
    for title in explanation.without_calls:
        yield Text(f"{title} was stored without calls: no callers, and flame graphs are flat.")
    text = "KCachegrind: explain … --callgrind DIR     flame graph: --speedscope FILE"
    yield Text(text, style="dim")


# ---------------------------------------------------------------------------------- cells


def _table(*, heading: bool = True) -> Table:
    return Table(box=None, padding=(0, 2, 0, 0), pad_edge=False, show_header=heading)


def _widths(headings: Sequence[str], rows: Sequence[Sequence[Text]]) -> list[int]:
    return [
        max(len(heading), *(cells[place].cell_len for cells in rows))
        for place, heading in enumerate(headings)
    ]


def _add_amounts(
    table: Table, headings: Sequence[str], widths: Sequence[int], indent: str = ""
) -> None:
    for heading, width in zip(headings, widths, strict=True):
        title = Text(indent + heading, style="bold")
        table.add_column(title, justify="right", no_wrap=True, min_width=width + len(indent))
        indent = ""


def _style(delta: Fraction | int) -> str:
    return "red" if delta > 0 else "green" if delta < 0 else ""


def numbers(base: Fraction | None, new: Fraction | None) -> list[Text]:
    """Base, new and the change."""
    delta = (new or Fraction()) - (base or Fraction())
    cells = [Text(_ABSENT if amount is None else f"{round(amount):,}") for amount in (base, new)]
    # A change is rounded itself, so that it is not 0 where it is 1.
    return [*cells, Text(f"{round(delta):+,}" if round(delta) else "0", style=_style(delta))]


def sums(
    ones: Sequence[Share] | Sequence[FunctionChange] | Sequence[CallerChange],
) -> tuple[Fraction, Fraction]:
    """What they cost together on both sides."""
    base = sum((function.base or Fraction() for function in ones), Fraction())
    return base, sum((function.new or Fraction() for function in ones), Fraction())


def _amounts(function_change: FunctionChange) -> list[Text]:
    return [
        *numbers(function_change.base, function_change.new),
        Text(calls_text(function_change.base_calls, function_change.new_calls)),
    ]


def calls_text(base: Fraction | None, new: Fraction | None) -> str:
    """How often a function is called on both sides; once where that is the same."""
    if base == new:
        return "" if new is None else shown(new)
    return " → ".join("?" if calls is None else shown(calls) for calls in (base, new))


def move_text(move: Inlining) -> str:
    """What was inlined into a function, or is no longer."""
    names = [short(key.name, 40) for key in move.functions]
    what = f"{names[0]} and {len(names) - 1} more" if len(names) > 1 else names[0]
    verb = "are" if len(names) > 1 else "is"
    how = "inlined into" if move.inlined else "no longer inlined into"
    return f"{what} {verb} {how} {short(move.caller.name, 40)}: {round(move.delta):+,} in all"
