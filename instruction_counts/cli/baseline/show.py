"""``baseline show``: what a baseline holds."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from instruction_counts.cli import console
from instruction_counts.cli.file_type import FILE
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import case_options
from instruction_counts.domain.selection import Selection
from instruction_counts.gate.baseline import read_baseline, sorted_keys
from instruction_counts.report import gate as report
from instruction_counts.session.checking import selected_cases


@click.command("show", cls=Command)
@click.argument("file", type=FILE)
@case_options
def command(file: Path, selection: Selection) -> None:
    """Show what a baseline contains: counts, and how far noise moves them."""
    baseline = selected_cases(read_baseline(file), selection)
    for name, value in attrs.asdict(baseline.head).items():
        console.line(f"{name.replace('_', ' ')}: {value or 'none'}", style="dim")
    console.line("")
    cases = baseline.cases
    console.render(report.baseline_table(cases[key] for key in sorted_keys(cases)))
    console.line(f"{len(cases):,} cases")
