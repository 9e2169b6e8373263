"""``operators coverage``: the public operators of a torch that no entry covers."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.format_option import format_option
from instruction_counts.cli.help import Command
from instruction_counts.cli.option_types import FILE
from instruction_counts.cli.options import build_options, only_build, operators_file_option
from instruction_counts.domain.build import Build, default_build
from instruction_counts.report import coverage as report
from instruction_counts.report.formats.entry import CoverageReport
from instruction_counts.report.registry import Destination, names_for, render, suffixes_for
from instruction_counts.session.coverage import find_coverage
from instruction_counts.sources.operators.coverage import total

_SHOWN = 10


@click.command("coverage", cls=Command)
@operators_file_option
@click.option(
    "--category",
    "categories",
    multiple=True,
    metavar="NAME",
    help="Only these: torch.linalg, pointwise, 'torch.Tensor*'. Repeatable.",
)
@click.option(
    "--all",
    "everything",
    is_flag=True,
    help=f"Show all operators, instead of the first {_SHOWN} of each category.",
)
@format_option("each category, with every operator that is missing", names_for(CoverageReport))
@click.option(
    "--output",
    type=FILE,
    help=f"Also write everything that is not covered: {', '.join(suffixes_for(CoverageReport))}.",
)
@build_options
def command(
    operators_file: Path | None,
    categories: tuple[str, ...],
    everything: bool,
    form: str,
    output: Path | None,
    builds: tuple[Build, ...],
) -> None:
    """Show which public operators of torch have no entry, those called most first.

    \b
    Examples:
      python main.py operators coverage
      python main.py operators coverage --category torch.linalg --all
      python main.py operators coverage --build old=.venv-old --output uncovered.md
    """  # noqa: D301 - \b keeps click from reflowing the examples
    build = only_build(builds or (default_build(),), "coverage")
    destination = None if output is None else Destination.of(output, CoverageReport)
    found = find_coverage(build, categories, operators_file)
    shown = CoverageReport(found, build.name)
    if destination is not None:
        console.note(f"Saved: {destination.write(shown)}")
    if form != "text":
        console.write(str(render(form, shown)))
        return
    console.render(report.table(found, None if everything else _SHOWN))
    console.line("")
    for text in (*report.LEGEND, report.summary(total(found))):
        console.line(text)
