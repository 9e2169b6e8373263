"""``generate`` and ``predict``: models as their unique layers, and as the sum of these."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import (
    FILE,
    build_options,
    choice,
    flag,
    gathered,
    only_build,
    option,
    several,
    store_option,
)
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.core.labels import by_option
from instruction_counts.core.types import AutogradMode, Language
from instruction_counts.domain.build import Build
from instruction_counts.report import models as report
from instruction_counts.session.models import generate, predict_models
from instruction_counts.session.sides import LazyStore
from instruction_counts.sources.models.layers import TraceMode


@click.command("generate", cls=Command)
@several(
    *("--model models", "MODULE:FACTORY[=NAME]"),
    "Function without arguments that returns a module.",
    required=True,
)
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
            *("--level", ["modules", "operators"]),
            "Layers to write. modules: torch's own modules, and the operators outside of them.",
            default="modules",
        ),
        flag("--real-data", "Run models on random values, not on shapes alone."),
    ),
    TraceMode,
)
@option(
    *("--output", "FILE", "The definition file to write."),
    type=FILE,
    default=Path("definitions/generated/models.py"),
)
@flag("--force", "Replace the file if it exists.")
@build_options
def generate_command(
    models: tuple[str, ...],
    input_texts: tuple[str, ...],
    mode: TraceMode,
    output: Path,
    force: bool,
    builds: tuple[Build, ...],
) -> None:
    """Split models into their unique layers, as a definition file; nothing is measured.

    Each model runs once, in the build's interpreter and in the working directory. `run` measures
    the file, `predict` adds the layers up again.

    \b
    Examples:
      python main.py generate --model examples.models:bert \\
        --input 'input_ids=1,32:int64<30522'
      python main.py run --definitions definitions/generated/models.py
      python main.py predict last
    """  # noqa: D301 - \b keeps click from reflowing the examples
    build = only_build(builds, "generate")
    console.show(report.generated(generate(models, input_texts, mode, build, output, force=force)))


@click.command("predict", cls=Command)
@click.argument("run")
@several("--model models", "NAME", "Model to show.  [default: all]")
@choice("--language", by_option(Language), "Language of the layers.", default="python")
@choice(
    *("--autograd", ["forward", "backward"]),
    "Autograd mode of the layers. backward: forward and backward together.",
    default="forward",
)
@store_option
@output_options()
def predict_command(
    run: str,
    models: tuple[str, ...],
    language: str,
    autograd: str,
    db: str | None,
    outputs: Outputs,
) -> None:
    """Add up the layers of a model, and compare with the whole; nothing is measured.

    RUN is a run of a file that `generate` wrote: a stored one (its number, a tag, or "last") or a
    JSON file. RUN:NAME is one build of it. What remains unexplained is Python between the layers,
    and caches that a layer alone keeps warm.

    \b
    Examples:
      python main.py predict 12 --model MobileNetV2 --autograd backward
    """  # noqa: D301 - \b keeps click from reflowing the examples
    modes = by_option(Language)[language], by_option(AutogradMode)[autograd]
    with LazyStore(db) as runs:
        outputs.write(report.predicted(predict_models(run, models, modes, runs, console)))
