"""Models taken apart into their unique layers, written as a definition file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs

from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.models.layers import Mode, ModelTrace, take_apart
from instruction_counts.sources.models.sources import (
    check,
    check_exported,
    inputs_of,
    parse_input,
    parse_source,
)
from instruction_counts.sources.models.unique import UniqueLayer, unique_layers
from instruction_counts.sources.models.writer import check_unedited, definition_file
from instruction_counts.system.files import check_writable, unwritable, write_atomically

_TIMEOUT_S = 600.0


@attrs.frozen
class GenerationRequest:
    """Which models, and how they are taken apart; models and inputs as the options are written."""

    models: tuple[str, ...]
    inputs: tuple[str, ...]
    mode: Mode
    batch_size: int | None = None


@attrs.frozen
class Generated:
    """What was written."""

    traces: list[ModelTrace]
    layers: Sequence[UniqueLayer]


def generate(
    request: GenerationRequest, builds: Sequence[Build], output: Path, *, force: bool = False
) -> Generated:
    """Write the unique layers of the models to ``output``; ``force`` replaces an edited file.

    Raises:
        UsageError: a model or an input is not understood, or the file cannot be written.
    """
    sources = [parse_source(model) for model in request.models]
    specs = [parse_input(text) for text in request.inputs]
    mode, batch_size = request.mode, request.batch_size
    check(sources, specs)
    check_exported(sources, specs, training=mode.training, batch_size=batch_size)
    if len(builds) != 1:
        raise UsageError(
            "models are analysed with one build", "Give --build once; the file runs on all."
        )
    if output.suffix != ".py":
        raise UsageError(f"--output {output}: a definition file ends in .py", "Name it so.")
    check_writable(output, "--output")  # taking models apart takes long
    if not force:
        check_unedited(output)
    traces = [
        take_apart(
            builds[0], model, inputs_of(model, specs, batch_size), mode, timeout_s=_TIMEOUT_S
        )
        for model in sources
    ]
    layers = unique_layers(traces)
    if not layers:
        raise UsageError("the models call nothing that can be measured", "See --level operators.")
    again = _again(request, output)
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(output, definition_file(traces, layers, mode, again, output.parent))
    except OSError as error:
        raise unwritable(output, "--output", error) from error
    return Generated(traces, layers)


def _again(request: GenerationRequest, output: Path) -> list[str]:
    """The options that write the same file again."""
    mode = request.mode
    words = [word for model in request.models for word in ("--model", model)]
    words += [word for spec in request.inputs for word in ("--input", spec)]
    words += [] if request.batch_size is None else ["--batch-size", str(request.batch_size)]
    words += [] if mode.level == "modules" else ["--level", mode.level]
    flags = {
        "--backward": mode.backward,
        "--train": mode.training,
        "--real-data": mode.real_data,
    }
    words += [flag for flag, is_set in flags.items() if is_set]
    return [*words, "--output", str(output)]
