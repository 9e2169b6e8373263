"""``generate``: models taken apart into their unique layers, written as a definition file."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.help import Command
from instruction_counts.cli.option_types import FILE
from instruction_counts.cli.options import build_options, only_build
from instruction_counts.domain.build import Build, default_build
from instruction_counts.report import models as report
from instruction_counts.session.models import generate
from instruction_counts.sources.models.layers import TraceMode


@click.command("generate", cls=Command)
@click.option(
    "--model",
    "models",
    multiple=True,
    required=True,
    metavar="MODULE:FACTORY[=NAME]",
    help="Function without arguments that returns a module. Repeatable.",
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="[NAME=]SIZES[:DTYPE]",
    help="Sizes of an input: 1,3,224,224. With a dtype and a limit: 1,128:int64<30522. For an "
    "argument: input_ids=…. For one of several models: MODEL@…. Repeatable.",
)
@click.option(
    "--batch-size",
    type=click.IntRange(min=1),
    metavar="N",
    help="First size of each input, in place of that in --input.",
)
@click.option("--backward", is_flag=True, help="Also measure forward and backward together.")
@click.option("--train", "training", is_flag=True, help="Use training mode  [default: eval]")
@click.option(
    "--level",
    type=click.Choice(["modules", "operators"]),
    default="modules",
    show_default=True,
    help="Layers to write. modules: torch's own modules, and the operators outside of them.",
)
@click.option(
    "--real-data",
    is_flag=True,
    help="Run models on random values, not on shapes alone.",
)
@click.option(
    "--output",
    type=FILE,
    default=Path("definitions/generated/models.py"),
    show_default=True,
    metavar="FILE",
    help="The definition file to write.",
)
@click.option("--force", is_flag=True, help="Replace the file if it exists.")
@build_options
def command(
    models: tuple[str, ...],
    inputs: tuple[str, ...],
    batch_size: int | None,
    backward: bool,
    training: bool,
    level: str,
    real_data: bool,
    output: Path,
    force: bool,
    builds: tuple[Build, ...],
) -> None:
    """Split models into their unique layers, as a definition file; nothing is measured.

    `run` measures the file, `predict` adds the layers up again.

    \b
    Examples:
      python main.py generate --model examples.models:mobilenet_v2 --input 1,3,224,224
      python main.py generate --model examples.models:bert --input 'input_ids=1,32:int64<30522'
      python main.py run --definitions definitions/generated/models.py --output result.json
      python main.py predict result.json

    \f
    Each model runs once, on tensors that have shapes but no values, in the build's interpreter and
    in the working directory. A layer that occurs several times, in one model or in several, is
    written once, together with its places.
    """  # noqa: D301 - \b keeps click from reflowing the examples
    build = only_build(builds or (default_build(),), "generate")
    mode = TraceMode(level, training, backward, real_data)
    found = generate(models, inputs, mode, build, output, batch_size=batch_size, force=force)
    console.show(report.generated(found))
