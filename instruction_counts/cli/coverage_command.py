"""``operators coverage``: the public operators of a torch that no entry covers."""

from __future__ import annotations

import json
from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.format_option import format_option
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import build_options, operators_file_option
from instruction_counts.cli.saving import save
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.report import coverage as report
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
@format_option("each category, with all that it lacks")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE.md",
    help="Write everything that is not covered as Markdown, too.",
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
    if output is not None and output.suffix != ".md":
        raise UsageError(f"--output {output}: what is written is Markdown", "Name it FILE.md.")
    entries = read_operators(operators_file or standard_file())
    public = in_categories(load_public_operators(builds[0], Cache()), categories)
    found = coverage(public, entries)
    if output is not None:
        save("--output", output, report.markdown(found, builds[0].name))
        console.note(f"Saved: {output}")
    if form == "json":
        document = report.as_json(found, builds[0].name)
        console.write(json.dumps(document, indent=1, allow_nan=False))
        return
    console.render(report.table(found, None if everything else _SHOWN))
    console.line("")
    for text in (*report.LEGEND, report.summary(total(found))):
        console.line(text)
