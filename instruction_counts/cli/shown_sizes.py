"""An operator over a range of sizes, on the screen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from instruction_counts.analysis.operators.complexity import fit
from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode, no_findings
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Record
from instruction_counts.report import sizes as report
from instruction_counts.report.run import problems
from instruction_counts.session.sizes import MeasuredSizes


def show_sizes(measured: MeasuredSizes) -> ExitCode:
    """Show counts, the complexity that fits them best, and a plot; returns the exit code."""
    run = measured.run
    by_mode: dict[report.Mode, dict[int, Record]] = defaultdict(dict)
    for record in run.cases:
        mode = (record.language, record.runtime, record.autograd, record.num_threads)
        by_mode[mode][measured.size_of[record.label]] = record
    console.render(report.sizes_table(measured.sizes, by_mode))
    counts = {mode: _counts(records) for mode, records in by_mode.items()}
    fits = {mode: fit(by_size) for mode, by_size in counts.items()}
    console.line("")
    for mode, found in fits.items():
        console.render(report.complexity(mode, found))
    console.line("")
    for line in report.plot(
        measured.entry.name, {mode: count for mode, count in counts.items() if count}, fits
    ):
        console.render(line)
    for problem in problems(run):
        console.line(problem.text)
    failed = any(record.outcome.status is not Status.OK for record in run.cases)
    return ExitCode.CASES_FAILED if failed else no_findings(is_sound=measured.is_sound)


def _counts(records: Mapping[int, Record]) -> dict[int, int]:
    return {
        size: record.outcome.instructions.per_run
        for size, record in sorted(records.items())
        if record.outcome.instructions is not None
    }
