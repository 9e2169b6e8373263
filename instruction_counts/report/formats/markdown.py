"""Coverage as Markdown."""

from __future__ import annotations

from instruction_counts.report import coverage as coverage_report
from instruction_counts.report.formats.entry import CoverageReport, Format


def coverage(report: CoverageReport) -> str:
    """Every operator without an entry, by category."""
    return coverage_report.markdown(report.categories, report.build)


FORMAT = Format("markdown", (".md",), {CoverageReport: coverage})
