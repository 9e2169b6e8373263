"""The results table: the label tree down, the languages across."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TypeAlias

import attrs
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from core.types import AutogradMode, Label, Language, RuntimeMode
from instruction_counts.domain.metrics import LEFT_RUNNING, Metric, metrics
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Record, Run
from instruction_counts.report import format as fmt
from instruction_counts.report import skipped_by_budget

LEGEND = "instr: instructions per iteration, exact unless marked ~; time: median ± IQR"

_RowKey: TypeAlias = tuple[str, Label, RuntimeMode, AutogradMode, int]
"""The build and the whole key of a case, except for its language."""


@attrs.frozen
class Row:
    """One line: a mode of a benchmark, in all languages."""

    label: Label
    mode: str
    records: dict[Language, Record]


def metric_columns(run: Run, asked_for: Sequence[Metric] = ()) -> tuple[Metric, ...]:
    """The metrics that have a column: those ``asked_for``, and those that are always shown."""
    known = {name for record in run.cases for name in record.outcome.metrics}
    unasked = (metric for metric in metrics() if metric.has_column and metric.name in known)
    return tuple(dict.fromkeys([*asked_for, *unasked]))


def results(run: Run, asked_for: Sequence[Metric] = ()) -> Table:
    """The table for a terminal; made to be readable at 80 columns."""
    shown, columns = languages(run), metric_columns(run, asked_for)
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, expand=False, show_header=True)
    table.add_column("", overflow="fold", ratio=1)
    for language in shown:
        table.add_column(Text(f"{language.value}\ninstr"), justify="right", no_wrap=True)
        for metric in columns:
            heading = Text(f"\n{metric.heading or metric.title}")
            table.add_column(heading, justify="right", no_wrap=True, style="dim")
        table.add_column(Text("\ntime"), justify="right", no_wrap=True)
        table.add_column(Text("\n"), justify="right", no_wrap=True, style="dim")
    for row in _with_headings(list(rows(run))):
        if isinstance(row, Text):
            table.add_row(row)
        else:
            indent = 2 + len(row.mode) - len(row.mode.lstrip())
            name = Padding(Text(row.mode.lstrip()), (0, 0, 0, indent))
            figures = [cell for field in shown for cell in cells(row, field, columns)]
            table.add_row(name, *figures)
    return table


def _tried(run: Run) -> list[Record]:
    """All but what a time budget skipped."""
    return [record for record in run.cases if not record.outcome.skipped_by_budget]


def problems(run: Run) -> Iterator[str]:
    """A line for each case without a result, except those that a time budget skipped."""
    for record in run.cases:
        failure = record.outcome.failure
        if failure is not None and not record.outcome.skipped_by_budget:
            yield f"{record.outcome.status.value}  {_title(run, record)}: {failure.summary}"


def notes(run: Run) -> Iterator[str]:
    """A line for each case, and each build, of whose results something has to be known."""
    for name, files in run.changed_files.items():
        yield f'note  files of build "{name}" changed during the run: {files.summary}'
    for record in run.cases:
        left_running = record.outcome.metrics.get(LEFT_RUNNING.name)
        if left_running:
            processes = "1 process" if left_running == 1 else f"{left_running:,} processes"
            were = "was" if left_running == 1 else "were"
            what = f"{processes} that the statement left running {were} ended"
            yield f"note  {_title(run, record)}: {what}"


def _title(run: Run, record: Record) -> str:
    title = f"{' / '.join(record.label)} · {record.language.value}"
    mode = _mode_text(record, several=len(run.builds) > 1)
    return f"{title}{' · ' if mode else ''}{mode}"


def skipped_lines(run: Run) -> Iterator[str]:
    """What a time budget skipped; nothing where there was enough time."""
    measured, budgets = skipped(run)
    return skipped_by_budget.lines(budgets, measured)


def skipped(run: Run) -> tuple[int, dict[str, str]]:
    """How many cases were measured, and the others by their titles, each with the budget."""
    budgets = {
        _title(run, record): record.outcome.skipped_by_budget
        for record in run.cases
        if record.outcome.skipped_by_budget
    }
    return len(run.cases) - len(budgets), budgets


def summary(run: Run) -> str:
    """The last line: ``250 cases: 248 ok · 2 failed``."""
    counts = Counter(record.outcome.status.value for record in run.cases)
    shares = " · ".join(f"{number} {status}" for status, number in counts.items())
    return f"{len(run.cases)} cases: {shares}" if run.cases else "No case was measured."


def rows(run: Run) -> Iterator[Row]:
    """A row for each mode of each benchmark, with its records by language."""
    found: dict[_RowKey, dict[Language, Record]] = {}
    for record in _tried(run):
        modes = record.runtime, record.autograd, record.num_threads
        key = record.build, record.label, *modes
        found.setdefault(key, {})[record.language] = record
    for (_, label, *_), records in found.items():
        first = next(iter(records.values()))
        yield Row(label, _mode_text(first, several=len(run.builds) > 1), records)


def _mode_text(record: Record, *, several: bool) -> str:
    parts = [record.build] if several else []
    if record.runtime is not RuntimeMode.EAGER and record.runtime.value:
        parts.append(record.runtime.value)
    if record.autograd is AutogradMode.FORWARD_BACKWARD:
        parts.append("backward")
    if record.num_threads > 1:
        parts.append(f"{record.num_threads} threads")
    return ", ".join(parts)


def _with_headings(rows: Sequence[Row]) -> Iterator[Row | Text]:
    """The rows, with a heading for each top label and one for each benchmark of several modes."""
    above: Label = ()
    for row in rows:
        if row.label[:1] != above[:1]:
            if above:
                yield Text("")
            if len(row.label) > 1:
                yield Text(row.label[0], style="bold")
        if row.label != above:
            name = " / ".join(row.label[1:]) or row.label[0]
            first = name if not row.mode else f"{name}, {row.mode}"
            yield attrs.evolve(row, mode=first)
        else:
            yield attrs.evolve(row, mode=f"  {row.mode}")
        above = row.label


def languages(run: Run) -> list[Language]:
    """The languages that the table has columns for."""
    present = {record.language for record in _tried(run)}
    return [language for language in Language if language in present]


def cells(row: Row, language: Language, columns: Sequence[Metric] = ()) -> list[Text]:
    """Count, metrics, time and its spread of a row in one language."""
    record = row.records.get(language)
    width = 3 + len(columns)
    if record is None:
        return [Text("")] * width
    outcome = record.outcome
    if outcome.status is not Status.OK:
        style = "yellow" if outcome.status is Status.SKIPPED else "red"
        return [Text(outcome.status.value, style=style), *[Text("")] * (width - 1)]
    return [
        Text(fmt.count(outcome.instructions)),
        *(Text(column.text(outcome.metrics.get(column.name))) for column in columns),
        Text(fmt.median(outcome.times)),
        Text(fmt.spread(outcome.times)),
    ]
