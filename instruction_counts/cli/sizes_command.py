"""``operators sizes``: one operator over a range of sizes."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode, no_findings
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import measuring_options
from instruction_counts.cli.options import (
    build_options,
    mode_options,
    operators_file_option,
    store_option,
)
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.selection import Selection
from instruction_counts.report import operators as report
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.session.operators import measure_sizes
from instruction_counts.sources.operators.calls import Overrides
from instruction_counts.sources.operators.entries import DTYPES, LARGEST_SEED
from instruction_counts.storage.store import Store


@click.command("sizes", cls=Command)
@click.argument("operator")
@operators_file_option
@click.option(
    "--sizes",
    "sizes_text",
    metavar="FIRST:LAST[:FACTOR]",
    help="The sizes N: a range by a factor (4), or a list 10,100,1000. Default: up to 65,536 "
    "elements in an input, fewer where the output is much larger.",
)
@click.option(
    "--scale",
    multiple=True,
    metavar="NAME=[N,…]",
    help="The shape of an input with N in it. Repeatable. Default: what the entry "
    "suggests, or else the first size of the first input is N, wherever it occurs.",
)
@click.option("--dtype", type=click.Choice(DTYPES), help="dtype of the inputs  [default: float32]")
@click.option(
    "--seed",
    type=click.IntRange(0, LARGEST_SEED),
    default=0,
    show_default=True,
    help="Random seed of the inputs.",
)
@mode_options
@build_options
@measuring_options
@store_option
@output_options()
def command(
    operator: str,
    operators_file: Path | None,
    sizes_text: str | None,
    scale: tuple[str, ...],
    dtype: str | None,
    seed: int,
    modes: Selection,
    builds: tuple[Build, ...],
    measuring: MeasurementSettings,
    db: str | None,
    outputs: Outputs,
) -> ExitCode:
    """Measure one operator over a range of sizes: where overhead ends and work begins.

    Prints the counts, the complexity that fits them best, and a plot. The default is eager
    forward in both languages.

    \b
    Examples:
      python main.py operators sizes torch.add
      python main.py operators sizes torch.mm --sizes 4:256:2 --language c++
      python main.py operators sizes torch.sum --scale 'input=[N,64]'
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if not measuring.counts:
        raise UsageError("--no-counts leaves nothing to fit", "Drop it.")
    if len(builds) > 1:
        raise UsageError("sizes are measured on one build", "Name one --build.")
    overrides = Overrides(dtypes=(dtype,) if dtype else (), seed=seed)
    (build,) = builds or (default_build(),)
    with Store.open(db) as store:
        found = measure_sizes(
            *(operator, modes, build, measuring, store, console),
            sizes=sizes_text or "",
            scale=scale,
            overrides=overrides,
            file=operators_file,
        )
    outputs.write(report.sizes(found))
    if any(record.outcome.status is not Status.OK for record in found.run.cases):
        return ExitCode.CASES_FAILED
    return no_findings(is_sound=found.is_sound)
