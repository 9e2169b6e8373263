"""The results table: the label tree down, the languages across."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

import attrs
from rich.table import Table
from rich.text import Text

from core.types import AutogradMode, Label, Language, RuntimeMode
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Record, Run
from instruction_counts.report import format as fmt
from instruction_counts.report import skipped_by_budget as left_out_report
from instruction_counts.report.markdown import empty_table, escaped, table_lines

LEGEND = "instr: instructions per run, exact unless marked ~; time: median ± IQR"

_Mode = tuple[str, RuntimeMode, AutogradMode, int]


@attrs.frozen
class _Row:
    """One line: a mode of a benchmark, in both languages."""

    label: Label
    mode: str
    records: dict[Language, Record]


def results(run: Run, *, allocations: bool = False) -> Table:
    """The table for a terminal; made to be readable at 80 columns."""
    records = _tried(run)
    languages = _languages(records)
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False, expand=False, show_header=True)
    table.add_column("", overflow="fold", ratio=1)
    for language in languages:
        table.add_column(Text(f"{language.value}\ninstr"), justify="right", no_wrap=True)
        if allocations:
            table.add_column(Text("\nallocs"), justify="right", no_wrap=True, style="dim")
        table.add_column(Text("\ntime"), justify="right", no_wrap=True)
        table.add_column(Text("\n"), justify="right", no_wrap=True, style="dim")
    for row in _with_headings(list(_rows(records, several=len(run.builds) > 1))):
        if isinstance(row, Text):
            table.add_row(row)
        else:
            name = Text("  " + row.mode)
            cells = [cell for one in languages for cell in _cells(row, one, allocations)]
            table.add_row(name, *cells)
    return table


def markdown(run: Run) -> str:
    """The run as a Markdown table, with what failed below it."""
    table = empty_table()
    table.add_column("benchmark")
    records = _tried(run)
    for language in _languages(records):
        for heading in ("instr", "time", "IQR"):
            table.add_column(f"{language.value} {heading}", justify="right")
    for row in _rows(records, several=len(run.builds) > 1):
        name = f"{' / '.join(row.label)} · {row.mode}".removesuffix(" · ")
        name = " ".join(name.replace("|", "\\|").split())
        cells = [
            cell for one in _languages(records) for cell in _cells(row, one, allocations=False)
        ]
        table.add_row(Text(name), *cells)
    lines = table_lines(table)
    failures = [f"- {text}" for text in problems(run)]
    header = [f"**{name}**: {build.torch}, {build.cpu}" for name, build in run.builds.items()]
    measured, budgets = _left_out(run)
    rest = left_out_report.markdown(budgets, measured, escaped)
    return "\n".join([*header, "", *lines, "", LEGEND, "", *failures, *rest]).rstrip() + "\n"


def _tried(run: Run) -> list[Record]:
    """All but what was left out for want of time."""
    return [record for record in run.cases if not record.outcome.left_out]


def problems(run: Run) -> Iterator[str]:
    """A line for each case that has no result, with the reason; not for what was left out."""
    for record in run.cases:
        failure = record.outcome.failure
        if failure is not None and not record.outcome.left_out:
            yield f"{record.outcome.status.value}  {_title(run, record)}: {failure.summary}"


def _title(run: Run, record: Record) -> str:
    title = f"{' / '.join(record.label)} · {record.language.value}"
    mode = _mode_text(record, several=len(run.builds) > 1)
    return f"{title}{' · ' if mode else ''}{mode}"


def left_out(run: Run) -> Iterator[str]:
    """What was left out for want of time; nothing where nothing was."""
    measured, budgets = _left_out(run)
    return left_out_report.lines(budgets, measured)


def _left_out(run: Run) -> tuple[int, dict[str, str]]:
    """How many cases were measured, and the others by their titles, each with the budget."""
    budgets = {
        _title(run, record): record.outcome.left_out
        for record in run.cases
        if record.outcome.left_out
    }
    return len(run.cases) - len(budgets), budgets


def summary(run: Run) -> str:
    """The last line: ``250 cases: 248 ok · 2 failed``."""
    counts = Counter(record.outcome.status.value for record in run.cases)
    shares = " · ".join(f"{number} {status}" for status, number in counts.items())
    return f"{len(run.cases)} cases: {shares}" if run.cases else "No case was measured."


def _rows(records: Iterable[Record], *, several: bool) -> Iterator[_Row]:
    rows: dict[tuple[Label, str], dict[Language, Record]] = {}
    for record in records:
        key = record.label, _mode_text(record, several=several)
        rows.setdefault(key, {})[record.language] = record
    for (label, mode), by_language in rows.items():
        yield _Row(label, mode, by_language)


def _mode_text(record: Record, *, several: bool) -> str:
    parts = [record.build] if several else []
    if record.runtime is RuntimeMode.JIT:
        parts.append(record.runtime.value)
    if record.autograd is AutogradMode.FORWARD_BACKWARD:
        parts.append("backward")
    if record.num_threads > 1:
        parts.append(f"{record.num_threads} threads")
    return ", ".join(parts)


def _with_headings(rows: Sequence[_Row]) -> Iterator[_Row | Text]:
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


def _languages(records: Iterable[Record]) -> list[Language]:
    present = {record.language for record in records}
    return [language for language in Language if language in present]


def _cells(row: _Row, language: Language, allocations: bool) -> list[Text]:
    record = row.records.get(language)
    width = 4 if allocations else 3
    if record is None:
        return [Text("")] * width
    outcome = record.outcome
    if outcome.status is not Status.OK:
        style = "yellow" if outcome.status is Status.SKIPPED else "red"
        return [Text(outcome.status.value, style=style), *[Text("")] * (width - 1)]
    counted = outcome.instructions
    calls = [
        Text("" if counted is None or counted.allocations is None else str(counted.allocations))
    ]
    return [
        Text(fmt.count(counted)),
        *(calls if allocations else []),
        Text(fmt.median(outcome.times)),
        Text(fmt.spread(outcome.times)),
    ]
