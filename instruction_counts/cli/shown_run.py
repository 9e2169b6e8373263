"""A run on the screen: the same when it has just been measured and when it comes from the store."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from instruction_counts.analysis.operator_metrics import without_metrics
from instruction_counts.cli import console
from instruction_counts.domain.metrics import Metric
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Run
from instruction_counts.report import operators, table
from instruction_counts.report.document import Document, Line


def show_run(run: Run, asked_for: Sequence[Metric] = (), *, with_tables: bool = True) -> None:
    """Show tables of what was measured, what has no result and why, notes, and how many of each."""
    if with_tables and any(record.outcome.status is Status.OK for record in run.cases):
        _show_tables(run, asked_for)
    remarks = [*table.problems(run), *table.notes(run)]
    if remarks:
        console.line("")
    for remark in remarks:
        console.line(remark)
    for line in table.skipped_lines(run):
        console.line(line)
    console.line(table.summary(run))


def _show_tables(run: Run, asked_for: Sequence[Metric]) -> None:
    shown = operators.measured(run)
    if shown.rows:
        texts = filter(None, [operators.LEGEND, operators.machine_line(run.machine)])
        console.show(Document("operators", sections=(shown,), notes=tuple(map(Line, texts))))
    others = without_metrics(run.cases)
    if others:
        console.render(table.results(attrs.evolve(run, cases=others), asked_for))
        console.line("")
    console.line(table.LEGEND, style="dim")
