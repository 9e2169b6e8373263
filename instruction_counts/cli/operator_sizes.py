"""``operators sizes``: one operator over a range of sizes."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode, exit_code
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import counting_options
from instruction_counts.cli.options import (
    build_options,
    choice,
    mode_options,
    only_build,
    operators_file_option,
    option,
    several,
    store_option,
)
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.build import Build
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.selection import Selection
from instruction_counts.report import operators as report
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.session.operators import measure_sizes
from instruction_counts.sources.operators.calls import Overrides
from instruction_counts.sources.operators.entries import DTYPES
from instruction_counts.storage.store import Store


@click.command("sizes", cls=Command)
@click.argument("operator")
@operators_file_option
@option(
    "--sizes sizes_text",
    "FIRST:LAST[:FACTOR]",
    "Values of N: a range, times FACTOR (4); or a list: 10,100,1000. Default: up to 65,536 "
    "elements in an input, fewer where the output is much larger.",
)
@several(
    "--input inputs",
    "NAME=SIZES",
    "Shape of one input, with N in it: input=N,64. Default: what the entry suggests, or else the "
    "first size of the first input is N, wherever it occurs.",
)
@choice("--dtype", DTYPES, "dtype of the inputs  [default: float32]", metavar="DTYPE")
@mode_options
@build_options
@counting_options
@store_option
@output_options()
def sizes(
    operator: str,
    operators_file: Path | None,
    sizes_text: str | None,
    inputs: tuple[str, ...],
    dtype: str | None,
    selection: Selection,
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
      python main.py operators sizes torch.sum --input input=N,64
    """  # noqa: D301 - \b keeps click from reflowing the examples
    build = only_build(builds, "sizes")
    overrides = Overrides(dtypes=(dtype,) if dtype else ())
    with Store(db) as store:
        found = measure_sizes(
            *(operator, selection, build, measuring, store, console),
            sizes=sizes_text or "",
            scale=inputs,
            overrides=overrides,
            file=operators_file,
        )
    outputs.write(report.sizes(found))
    failed = any(record.outcome.status is not Status.OK for record in found.run.cases)
    return exit_code(failed_cases=failed, is_sound=found.is_sound)
