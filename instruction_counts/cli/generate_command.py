"""``generate``: models taken apart into their unique layers, written as a definition file."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import build_options
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.report import models as report
from instruction_counts.sources.models.layers import Mode, ModelTrace, take_apart
from instruction_counts.sources.models.sources import (
    check,
    check_exported,
    inputs_of,
    parse_input,
    parse_source,
)
from instruction_counts.sources.models.unique import unique_layers
from instruction_counts.sources.models.writer import check_unedited, definition_file
from instruction_counts.system.files import check_writable, unwritable, write_atomically

_TIMEOUT_S = 600.0


@click.command("generate", cls=Command)
@click.option(
    "--model",
    "models",
    multiple=True,
    required=True,
    metavar="MODULE:FACTORY[=NAME]",
    help="Function that returns a module, or a model file. Files: .pt2 (torch.export), .ts or .pt "
    "(TorchScript), .onnx (needs onnx2torch in the build). Repeatable.",
)
@click.option(
    "--input",
    "inputs",
    multiple=True,
    metavar="SIZES",
    help="Sizes of an input: 1,3,224,224. With a dtype and a limit: 1,128:int64<30522. For an "
    "argument: input_ids=…. For one of several models: NAME@…. Repeatable.",
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
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("definitions/generated/models.py"),
    show_default=True,
    metavar="FILE",
    help="The definition file to write.",
)
@click.option("--force", is_flag=True, help="Replace a file that was edited.")
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
    """Write the unique layers of models as a definition file; nothing is measured.

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
    builds = builds or (default_build(),)
    sources = [parse_source(one) for one in models]
    specs = [parse_input(one) for one in inputs]
    check(sources, specs)
    check_exported(sources, specs, training=training, batch_size=batch_size)
    if len(builds) != 1:
        raise UsageError(
            "models are taken apart by one build", "Give --build once; the file runs on all."
        )
    if output.suffix != ".py":
        raise UsageError(f"--output {output}: a definition file ends in .py", "Name it so.")
    check_writable(output, "--output")  # taking models apart takes long
    if not force:
        check_unedited(output)
    mode = Mode(level, training, backward, real_data)
    traces = [
        take_apart(builds[0], one, inputs_of(one, specs, batch_size), mode, timeout_s=_TIMEOUT_S)
        for one in sources
    ]
    _write(traces, mode, _again(models, inputs, batch_size, mode, output), output)


def _write(traces: list[ModelTrace], mode: Mode, again: list[str], output: Path) -> None:
    layers = unique_layers(traces)
    if not layers:
        raise UsageError("the models call nothing that can be measured", "See --level operators.")
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(output, definition_file(traces, layers, mode, again, output.parent))
    except OSError as error:
        raise unwritable(output, "--output", error) from error
    console.render(report.generated(traces, layers))
    for line in report.remarks(traces):
        console.line(line)
    console.line(f"Saved: {output}")


def _again(
    models: tuple[str, ...],
    inputs: tuple[str, ...],
    batch_size: int | None,
    mode: Mode,
    output: Path,
) -> list[str]:
    """The options that write the same file again."""
    words = [word for one in models for word in ("--model", one)]
    words += [word for one in inputs for word in ("--input", one)]
    words += [] if batch_size is None else ["--batch-size", str(batch_size)]
    words += [] if mode.level == "modules" else ["--level", mode.level]
    flags = {
        "--backward": mode.backward,
        "--train": mode.training,
        "--real-data": mode.real_data,
    }
    words += [flag for flag, is_set in flags.items() if is_set]
    return [*words, "--output", str(output)]
