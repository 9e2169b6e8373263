"""The end of a check: what it shows, what it writes, and what a script learns."""

from __future__ import annotations

from collections.abc import Sequence

from instruction_counts.analysis.verdicts.shared_causes import shared_causes
from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.gating import Gating, exit_code
from instruction_counts.cli.shown_comparison import show_shared_causes
from instruction_counts.report import comparison as comparison_report
from instruction_counts.report import gate as gate_report
from instruction_counts.report import skipped_by_budget
from instruction_counts.report.formats.entry import CheckReport
from instruction_counts.report.registry import Destination
from instruction_counts.session.checking import Check


def conclude(
    check: Check, gating: Gating, destinations: Sequence[Destination], limit: int
) -> ExitCode:
    """Show the check, and only then write its files: what it says is never lost with them.

    One that was interrupted shows what was found until then; files stay those of the last check
    that ended.

    Raises:
        UsageError: a file cannot be written, or no case was compared, and so nothing passed.
    """
    show_check(check, limit)
    if check.interrupted:
        console.error("Interrupted: this is what was found until then, and no file was written.")
        return ExitCode.INTERRUPTED
    report = CheckReport(check.gate)
    paths = [destination.write(report) for destination in destinations]
    for path in gating.write_junit(report, paths):
        console.line(f"Saved: {path}")
    check.require_comparison()
    return exit_code(check.gate, is_sound=check.is_sound)


def show_check(check: Check, limit: int) -> None:
    """Print each case with what the limits make of it, and of all; at most ``limit`` of a kind.

    0 shows all.
    """
    gate = check.gate
    for text in comparison_report.head(gate.comparison):
        console.render(text)
    shared = shared_causes(gate.comparison.differences)
    show_shared_causes(shared, limit)
    for section in gate_report.sections(gate):
        console.line("")
        console.line(section.title, style=section.style)
        for finding in section.findings[: limit or None]:
            for text in gate_report.lines(finding, shared):
                console.render(text)
        left = len(section.findings) - limit
        if limit and left > 0:
            console.line(f"  … and {left} more (--limit 0 shows all)")
    console.line("")
    titles = comparison_report.skipped_titles(gate.comparison)
    for line in skipped_by_budget.lines(titles, len(gate.findings), limit):
        console.line(line, style="yellow")
    is_bad = gate.fails or not gate.compares
    said = gate_report.verdict(gate, interrupted=check.interrupted)
    console.line(said, style="bold red" if is_bad else "bold")
