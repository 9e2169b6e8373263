"""``generate``: models taken apart into their unique layers, written as a definition file."""

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import (
    FILE,
    choice,
    device_option,
    flag,
    gathered,
    one_build_options,
    only_build,
    option,
    several,
)
from instruction_counts.domain.build import Build
from instruction_counts.report import models as report
from instruction_counts.session.models import generate
from instruction_counts.sources.models.layers import TraceMode


@click.command("generate", cls=Command)
@click.argument("models", nargs=-1, required=True, metavar="MODULE:FACTORY[=NAME]...")
@several(
    "--input input_texts",
    "[NAME=]SIZES[:DTYPE]",
    "Sizes of an input: 1,3,224,224. With a dtype and a limit: 1,128:int64<30522. For an argument: "
    "input_ids=…. For one of several models: MODEL@….",
)
@gathered(
    "mode",
    (
        flag("--backward", "Also measure forward and backward together."),
        flag("--train training", "Use training mode  [default: eval]"),
        choice(
            "--runtime runtimes",
            ["compiled", "exported"],
            "Also measure what torch.compile (compiled) or AOTInductor (exported) makes of layers "
            "and models.",
            metavar="RUNTIME",
            multiple=True,
        ),
        choice(
            "--level",
            ["modules", "operators"],
            "Layers to write. modules: torch's own modules, and the operators outside of them.",
            default="modules",
        ),
        flag("--real-data", "Run models on random values, not on shapes alone."),
        device_option,
    ),
    TraceMode,
)
@option(
    "--output",
    "FILE",
    "The definition file to write.",
    type=FILE,
    default=Path("definitions/generated/models.py"),
)
@flag("--force", "Replace the file if it exists.")
@one_build_options
def generate_command(
    models: tuple[str, ...],
    input_texts: tuple[str, ...],
    mode: TraceMode,
    output: Path,
    force: bool,
    builds: tuple[Build, ...],
) -> None:
    r"""Split models into their unique layers, as a definition file; nothing is measured.

    FACTORY is a function without arguments that returns a module. Each model runs once, in the
    build's interpreter and in the working directory. `run` measures the file, `predict` adds the
    layers up again.

    Examples:
      python main.py generate examples.models:bert \
        --input 'input_ids=1,32:int64<30522'
      python main.py run --definitions definitions/generated/models.py
      python main.py predict last
    """
    build = only_build(builds, "generate")
    console.show(report.generated(generate(models, input_texts, mode, build, output, force=force)))
