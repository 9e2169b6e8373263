"""A comparison on the screen."""

from __future__ import annotations

from instruction_counts.analysis.models import Models
from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.shared_causes import SharedCauses, shared_causes
from instruction_counts.cli import console
from instruction_counts.report import comparison as report
from instruction_counts.report import shared_causes as shared_causes_report
from instruction_counts.report import skipped_by_budget


def show_comparison(comparison: Comparison, limit: int) -> None:
    """Print every case that differs, at most ``limit`` of a verdict (0: all), and a summary."""
    for text in report.head(comparison):
        console.render(text)
    titles = report.skipped_titles(comparison)
    for line in skipped_by_budget.lines(titles, len(comparison.differences), limit):
        console.line(line, style="yellow")
    shared = shared_causes(comparison.differences)
    show_shared_causes(shared, limit)
    models = Models(comparison.base.records.values())
    for section in report.sections(comparison):
        console.line("")
        console.line(f"{section.title}  {section.explanation}".rstrip(), style=section.style)
        shown = section.differences[: limit or None]
        for difference in shown:
            for text in report.lines(difference, models, shared):
                console.render(report.indented(text))
        left = len(section.differences) - len(shown)
        if left:
            console.line(f"  … and {left} more (--limit 0 shows all)")
    console.line("")
    console.line(report.last_line(comparison))


def show_shared_causes(shared: SharedCauses, limit: int) -> None:
    """Print what several cases changed for, at most ``limit`` groups (0: all)."""
    if shared.groups:
        console.line("")
    for text in shared_causes_report.lines(shared, limit):
        console.render(report.indented(text))
