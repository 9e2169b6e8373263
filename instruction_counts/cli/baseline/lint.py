"""``baseline lint``: problems of a baseline and its limits."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.file_type import FILE
from instruction_counts.cli.help import Command
from instruction_counts.gate import lint as linting
from instruction_counts.gate.baseline import read_baseline
from instruction_counts.gate.limits import read_limits
from instruction_counts.report import gate as report


@click.command("lint", cls=Command)
@click.argument("file", type=FILE)
@click.option("--limits", type=FILE, help="Limits to check with the baseline.")
def command(file: Path, limits: Path | None) -> int:
    """List the problems of a baseline and its limits; exits with 1 if there are any."""
    baseline = read_baseline(file)
    remarks = linting.lint(baseline, read_limits(limits) if limits is not None else None)
    for remark in remarks:
        for text in report.remark(remark):
            console.render(text)
    if not remarks:
        console.line(f"{file}: no problems found")
    return ExitCode.ERROR if remarks else ExitCode.OK
