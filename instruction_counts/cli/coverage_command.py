"""``operators coverage``: the public operators of a torch that no entry covers."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.format_option import format_option
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import build_options, operators_file_option
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.report import coverage as report
from instruction_counts.report.formats.entry import CoverageReport
from instruction_counts.report.registry import Destination, names_for, render, suffixes_for
from instruction_counts.sources.operators.catalogue import load_public_operators
from instruction_counts.sources.operators.coverage import coverage, in_categories, total
from instruction_counts.sources.operators.reading import read_operators
from instruction_counts.sources.operators.source import standard_file
from instruction_counts.system.cache import Cache

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
@click.option("--all", "everything", is_flag=True, help=f"Not only the first {_SHOWN} of each.")
@format_option("each category, with every operator that is missing", names_for(CoverageReport))
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help=f"Write everything that is not covered, too: {', '.join(suffixes_for(CoverageReport))}.",
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
    """Tell which public operators of torch have no entry, those called most first.

    \b
    Examples:
      python main.py operators coverage
      python main.py operators coverage --category torch.linalg --all
      python main.py operators coverage --build old=.venv-old --output uncovered.md
    """  # noqa: D301 - \b keeps click from reflowing the examples
    builds = builds or (default_build(),)
    if len(builds) > 1:
        raise UsageError("coverage is that of one build", "Name one --build.")
    destination = None if output is None else Destination.of(output, CoverageReport)
    entries = read_operators(operators_file or standard_file())
    public = in_categories(load_public_operators(builds[0], Cache()), categories)
    found = coverage(public, entries)
    shown = CoverageReport(found, builds[0].name)
    if destination is not None:
        console.note(f"Saved: {destination.write(shown)}")
    if form != "text":
        console.write(str(render(form, shown)))
        return
    console.render(report.table(found, None if everything else _SHOWN))
    console.line("")
    for text in (*report.LEGEND, report.summary(total(found))):
        console.line(text)
