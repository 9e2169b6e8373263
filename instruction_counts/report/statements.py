"""Statements as people read them: one with where it spends most, several beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import attrs
from rich.console import Console, ConsoleOptions, RenderableType
from rich.table import Table
from rich.text import Text

from instruction_counts.analysis.attribution.names import short
from instruction_counts.analysis.verdicts.statements import MeasuredStatement
from instruction_counts.domain.metrics import ALLOCATIONS, BYTECODES, OPERATOR_CALLS, Metric
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Record, Run
from instruction_counts.report import comparison
from instruction_counts.report import format as fmt
from instruction_counts.report import table as results_table

METRICS = {ALLOCATIONS: "allocs", BYTECODES: "bytecodes", OPERATOR_CALLS: "operators"}
"""What is shown beside instructions and times, where it is known, with its heading in a table."""

_NARROWEST_NAME = 16
_BESIDE_NAME = 42
"""Columns that the numbers and the layer beside the name of a function take."""


@attrs.frozen
class StatementsReport:
    """Statements that were measured, for a terminal or a pipe; all in one run, of one build."""

    statements: tuple[MeasuredStatement, ...]
    run: Run

    @property
    def remarks(self) -> tuple[str, ...]:
        """A line for each statement that failed, and for each doubt; not to be wrapped."""
        return (*results_table.problems(self.run), *results_table.notes(self.run))

    def __rich_console__(
        self, console: Console, options: ConsoleOptions
    ) -> Iterator[RenderableType]:
        """What rich prints."""
        del console
        measured = [found for found in self.statements if found.record.outcome.status is Status.OK]
        if len(self.statements) == 1:
            for found in measured:
                yield from _alone(found, options.max_width)
        elif measured:
            yield _beside(self.statements)
            yield Text()
            yield Text(results_table.LEGEND, style="dim")
            for found in measured:
                yield from _change(found)


def _alone(found: MeasuredStatement, width: int) -> Iterator[RenderableType]:
    record, outcome = found.record, found.record.outcome
    yield Text(record.key.title, style="bold")
    facts = _table()
    facts.add_column(no_wrap=True)
    facts.add_column(justify="right", no_wrap=True)
    facts.add_column(no_wrap=True, style="dim")
    if outcome.instructions is not None:
        facts.add_row("  instructions", fmt.count(outcome.instructions))
    if outcome.times is not None:
        facts.add_row("  time", fmt.median(outcome.times), fmt.spread(outcome.times))
    for metric in _known([record]):
        facts.add_row(f"  {metric.title}", metric.text(outcome.metrics[metric.name]))
    yield facts
    if found.places and outcome.instructions is not None:
        yield Text()
        yield _places(found, outcome.instructions.per_run, width)


def _places(found: MeasuredStatement, total: int, width: int) -> Table:
    """The functions that spend most."""
    places = _table(heading=True)
    places.add_column("  most in", no_wrap=True)
    places.add_column("instructions", justify="right", no_wrap=True)
    places.add_column("share", justify="right", no_wrap=True)
    places.add_column("", no_wrap=True, style="dim")
    for place in found.places:
        spent = place.new or 0
        share = f"{float(100 * spent / total):.1f}%" if total else ""
        name = short(place.key.name, max(_NARROWEST_NAME, width - _BESIDE_NAME))
        layer = Text(place.key.layer.value)
        places.add_row(Text(f"    {name}"), f"{round(spent):,}", share, layer)
    return places


def _beside(statements: Sequence[MeasuredStatement]) -> Table:
    """A row for each statement."""
    records = [found.record for found in statements]
    metrics = _known(records)
    columns = {
        "instr": [_count(record) for record in records],
        "change": [_relative(found) for found in statements],
        **{
            METRICS[metric]: [
                metric.text(record.outcome.metrics.get(metric.name)) for record in records
            ]
            for metric in metrics
        },
        "time": [_median(record) for record in records],
        "": [fmt.spread(record.outcome.times) for record in records],
    }
    shown = {heading: cells for heading, cells in columns.items() if any(cells)}
    found_table = _table(heading=True)
    found_table.add_column("", overflow="fold", ratio=1)
    for heading in shown:
        style = "" if heading in {"instr", "time"} else "dim"
        found_table.add_column(Text(heading), justify="right", no_wrap=True, style=style)
    for name, *cells in zip(_names(records), *shown.values(), strict=True):
        found_table.add_row(Text(name), *map(Text, cells))
    return found_table


def _count(record: Record) -> str:
    """The count; what happened where there is none, and nothing where nothing was counted."""
    outcome = record.outcome
    if outcome.status is not Status.OK:
        return str(outcome.status.value)
    return fmt.count(outcome.instructions) if outcome.instructions is not None else ""


def _relative(found: MeasuredStatement) -> str:
    relative = None if found.difference is None else found.difference.relative
    return "" if relative is None else f"{relative:+.2%}"


def _median(record: Record) -> str:
    return fmt.median(record.outcome.times) if record.outcome.times is not None else ""


def _change(found: MeasuredStatement) -> Iterator[RenderableType]:
    """What a statement costs more than the first, and why."""
    if found.difference is not None and found.difference.change is not None:
        yield Text()
        yield from map(comparison.indented, comparison.lines(found.difference))


def _names(records: Sequence[Record]) -> list[str]:
    """What the statements are called, with the modes in which they differ."""
    modes = [[*(mode.value for mode in record.key.modes), _threads(record)] for record in records]
    varying = [
        place for place, values in enumerate(zip(*modes, strict=True)) if len(set(values)) > 1
    ]
    return [
        " · ".join([" / ".join(record.label), *(mine[place] for place in varying)])
        for record, mine in zip(records, modes, strict=True)
    ]


def _threads(record: Record) -> str:
    return f"{record.num_threads} thread{'' if record.num_threads == 1 else 's'}"


def _known(records: Sequence[Record]) -> tuple[Metric, ...]:
    """The metrics that some statement has."""
    return tuple(
        metric
        for metric in METRICS
        if any(metric.name in record.outcome.metrics for record in records)
    )


def _table(*, heading: bool = False) -> Table:
    return Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, show_header=heading)
