"""``operators``: list them, what they leave uncovered, and one over a range of sizes."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli.help import Group
from instruction_counts.cli.operator_sizes import sizes
from instruction_counts.cli.options import (
    build_options,
    limit_option,
    only_build,
    operators_file_option,
)
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.build import Build
from instruction_counts.report import operators as report
from instruction_counts.sources.operators import catalogue
from instruction_counts.sources.operators.reading import read_operators
from instruction_counts.sources.operators.source import selected, standard_file


@click.group("operators", cls=Group, commands=[sizes])
def operators_command() -> None:
    """List operators, show which of torch's are not covered, or measure one over many sizes.

    To measure operators, use `run --operators PATTERN`; other commands that measure take it, too.
    """


@operators_command.command("list")
@click.argument("patterns", nargs=-1)
@operators_file_option
@output_options()
def list_(patterns: tuple[str, ...], operators_file: Path | None, outputs: Outputs) -> None:
    """List operators: by name (torch.add, add, 'torch.fft.*') or category:NAME; default all."""
    entries = selected(read_operators(operators_file or standard_file()), patterns or ("*",))
    outputs.write(report.listed(entries))


@operators_command.command("coverage")
@operators_file_option
@limit_option("Operators shown", 20)
@output_options()
@build_options
def coverage(
    operators_file: Path | None,
    limit: int,
    outputs: Outputs,
    builds: tuple[Build, ...],
) -> None:
    """Show which public operators of torch have no entry, those called most first."""
    build = only_build(builds, "coverage")
    entries = read_operators(operators_file or standard_file())
    outputs.write(report.coverage(catalogue.coverage(build, entries), build.name, limit))
