"""What a run measured, as a document: the label tree down, the languages across."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import attrs

from instruction_counts.analysis.operators import without_metrics
from instruction_counts.core.facts import expected_values, subject_values
from instruction_counts.core.types import AutogradMode, Label, Language, RuntimeMode
from instruction_counts.domain.metrics import LEFT_RUNNING, Metric, metrics
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.domain.records import Record, Run, RunSummary
from instruction_counts.report import charts, operators, runs
from instruction_counts.report.comparison import KEY_NAMES, key_cells, skipped_line
from instruction_counts.report.document import (
    Cell,
    Column,
    Document,
    Line,
    Role,
    Row,
    Table,
    Unit,
    records_table,
)
from instruction_counts.report.format import plural, relative_spread

LEGEND = "Instructions per iteration (~: inexact), median time ± interquartile range"

_RowKey: TypeAlias = tuple[str, Label, RuntimeMode, AutogradMode, int]
"""The build and the whole key of a case, except for its language."""


def run_document(
    run: Run,
    asked_for: Sequence[Metric] = (),
    *,
    with_tables: bool = True,
    summary: RunSummary | None = None,
) -> Document:
    """Tables of what was measured, what has no result and why, and how many of each.

    ``asked_for`` are metrics that have a column in any case; ``summary`` is that of a stored run.
    """
    tables: list[Table] = []
    legends: list[str] = []
    if with_tables and any(record.outcome.status is Status.OK for record in run.cases):
        of_operators = operators.measured(run)
        if of_operators.rows:
            tables.append(of_operators)
            legends += filter(None, [operators.LEGEND, operators.machine_line(run.machine)])
        others = without_metrics(run.cases)
        if others:
            tables.append(results_table(attrs.evolve(run, cases=others), asked_for))
        legends.append(LEGEND)
    return Document(
        "run",
        answer=tuple(map(Line, runs.head(run, summary))),
        sections=(*tables, *charts.of_run(run.cases)) if with_tables else (),
        notes=(
            *(Line(text, Role.DIM) for text in legends),
            *problems(run),
            *_notes(run),
            Line(_tally(run)),
        ),
        records=_records(run),
    )


# ------------------------------------------------------------------------------------ the table


@attrs.frozen
class _Mode:
    """A mode of a benchmark, in all languages."""

    label: Label
    mode: str
    records: dict[Language, Record]


def metric_columns(run: Run, asked_for: Sequence[Metric] = ()) -> tuple[Metric, ...]:
    """The metrics that have a column: those ``asked_for``, and those that are always shown."""
    known = {name for record in run.cases for name in record.outcome.metrics}
    unasked = (metric for metric in metrics() if metric.has_column and metric.name in known)
    return tuple(dict.fromkeys([*asked_for, *unasked]))


def results_table(run: Run, asked_for: Sequence[Metric] = ()) -> Table:
    """All cases but those that a time budget skipped."""
    present = {record.language for record in _tried(run)}
    languages = [language for language in Language if language in present]
    shown = metric_columns(run, asked_for)
    columns = [Column("case", "")]
    for language in languages:
        name = language.option
        columns += [
            Column(f"{name}_instructions", "instr", Unit.COUNT, language.value),
            *(
                Column(
                    f"{name}_{metric.name}",
                    metric.heading or metric.title,
                    Unit.COUNT,
                    language.value,
                )
                for metric in shown
            ),
            Column(f"{name}_median_s", "time", Unit.SECONDS, language.value),
            Column(f"{name}_iqr", "", Unit.RELATIVE_SPREAD, language.value),
        ]
    width = 3 + len(shown)
    rows = []
    above: Label = ()
    for found in _modes(run):
        if len(found.label) > 1 and found.label[:1] != above[:1]:
            nothing = (Cell(""),) * (width * len(languages))
            rows.append(Row((Cell(found.label[0]), *nothing), role=Role.STRONG))
        name = " / ".join(found.label[1:]) or found.label[0]
        is_new = found.label != above
        text = ", ".join(filter(None, [name if is_new else "", found.mode]))
        cells = [
            cell
            for language in languages
            for cell in _cells(found.records.get(language), shown, width)
        ]
        key = " · ".join(filter(None, [" / ".join(found.label), found.mode]))
        indent = (2 if len(found.label) > 1 else 0) + (0 if is_new else 2)
        rows.append(Row((Cell(text), *cells), key, indent=indent))
        above = found.label
    return Table("results", "", tuple(columns), tuple(rows))


def _tried(run: Run) -> list[Record]:
    return [record for record in run.cases if not record.outcome.skipped_by_budget]


def _modes(run: Run) -> Iterator[_Mode]:
    """A row for each mode of each benchmark, with its records by language."""
    found: dict[_RowKey, dict[Language, Record]] = {}
    for record in _tried(run):
        modes = record.runtime, record.autograd, record.num_threads
        key = record.build, record.label, *modes
        found.setdefault(key, {})[record.language] = record
    for (_, label, *_), records in found.items():
        first = next(iter(records.values()))
        yield _Mode(label, _mode_text(first, several=len(run.builds) > 1), records)


def _mode_text(record: Record, *, several: bool) -> str:
    parts = [record.build] if several else []
    if record.runtime is not RuntimeMode.EAGER and record.runtime.value:
        parts.append(record.runtime.value)
    if record.autograd is AutogradMode.FORWARD_BACKWARD:
        parts.append("backward")
    if record.num_threads > 1:
        parts.append(plural(record.num_threads, "thread"))
    return ", ".join(parts)


def _cells(record: Record | None, shown: Sequence[Metric], width: int) -> list[Cell]:
    """Count, metrics, time and its spread of a row in one language."""
    if record is None:
        return [Cell("")] * width
    outcome = record.outcome
    if outcome.status is not Status.OK:
        role = Role.WARNING if outcome.status is Status.SKIPPED else Role.BAD
        return [Cell(outcome.status.value, role), *[Cell("")] * (width - 1)]
    times = outcome.times
    spread = relative_spread(times)
    return [
        count_cell(outcome),
        *(Cell(outcome.metrics.get(metric.name, ""), Role.DIM) for metric in shown),
        Cell(None if times is None else times.median_s),
        Cell("" if spread is None else spread, Role.DIM),
    ]


def count_cell(outcome: Outcome) -> Cell:
    """The count of an outcome, marked where its windows do not agree."""
    counted = outcome.instructions
    return Cell(None) if counted is None else Cell(counted.per_run, approximate=not counted.exact)


# ------------------------------------------------------------------------------------- remarks


def problems(run: Run) -> Iterator[Line]:
    """A line for each case without a result, except those that a time budget skipped."""
    for record in run.cases:
        outcome = record.outcome
        if outcome.failure is not None and not outcome.skipped_by_budget:
            role = Role.WARNING if outcome.status is Status.SKIPPED else Role.BAD
            title = _title(run, record)
            yield Line(f"{outcome.status.value}  {title}: {outcome.failure.summary}", role)


def _notes(run: Run) -> Iterator[Line]:
    """What has to be known of some results, and what a time budget skipped."""
    for name, files in run.changed_files.items():
        text = f'note  files of build "{name}" changed during the run: {files.summary}'
        yield Line(text, Role.WARNING)
    for record in run.cases:
        left_running = record.outcome.metrics.get(LEFT_RUNNING.name)
        if left_running:
            number = plural(int(left_running), "process", "processes")
            were = "was" if left_running == 1 else "were"
            what = f"{number} that the statement left running {were} ended"
            yield Line(f"note  {_title(run, record)}: {what}", Role.WARNING)
    budgets = {
        _title(run, record): record.outcome.skipped_by_budget
        for record in run.cases
        if record.outcome.skipped_by_budget
    }
    if skipped := skipped_line(budgets, len(run.cases) - len(budgets)):
        yield skipped


def doubts(run: Run) -> tuple[Line, ...]:
    """A line for each case that failed, and for each doubt."""
    return (*problems(run), *_notes(run))


def _title(run: Run, record: Record) -> str:
    mode = _mode_text(record, several=len(run.builds) > 1)
    parts = [" / ".join(record.label), record.language.value, mode]
    return " · ".join(filter(None, parts))


def _tally(run: Run) -> str:
    """``250 cases: 248 ok · 2 failed``."""
    counts = Counter(record.outcome.status.value for record in run.cases)
    shares = " · ".join(f"{number:,} {status}" for status, number in counts.items())
    return f"{plural(len(run.cases), 'case')}: {shares}" if counts else "No case was measured."


# --------------------------------------------------------------------------------------- files

_FIGURES = ("status", "instructions", "exact", "spread", "median_s", "iqr_s", "error")
_STATED = ("metadata", "subject", "expected")
"""What the definition says of a case, as JSON."""


def _records(run: Run) -> Table:
    known = [metric.name for metric in metrics()]
    names = (*KEY_NAMES, "build", "definition_hash", *_FIGURES, *known, *_STATED)
    return records_table("cases", names, (_values(record, known) for record in run.cases))


def _values(record: Record, known: Sequence[str]) -> Iterator[Any]:
    outcome = record.outcome
    counted, times = outcome.instructions, outcome.times
    yield from key_cells(record.key)
    yield from (record.build, record.definition_hash, outcome.status.value)
    yield from ((counted.per_run, counted.exact, counted.spread) if counted else (None, None, None))
    yield from (times.median_s, times.iqr_s) if times else (None, None)
    yield outcome.failure and outcome.failure.summary
    yield from (outcome.metrics.get(name) for name in known)
    stated = record.metadata, subject_values(record.subject), expected_values(record.expected)
    yield from (json.dumps(value) if value else "" for value in stated)
