"""Models: split into their unique layers as a definition file, and put together from results."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import attrs

from instruction_counts.analysis.models import (
    MeasuredModel,
    Prediction,
    measured,
    models_in,
    predict,
)
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.core.types import AutogradMode, Language
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.execution.events import Observer
from instruction_counts.session.sides import Runs, read_side
from instruction_counts.sources.inputs import parse_input
from instruction_counts.sources.models.layers import (
    ModelTrace,
    TraceMode,
    UniqueLayer,
    take_apart,
    unique_layers,
)
from instruction_counts.sources.models.sources import check, inputs_of, parse_source
from instruction_counts.sources.models.writer import definition_file
from instruction_counts.system.files import check_writable, unwritable, write_atomically

_TIMEOUT_S = 600.0


@attrs.frozen
class GenerationRequest:
    """Which models, and how they are taken apart; models and inputs as the options are written."""

    models: tuple[str, ...]
    inputs: tuple[str, ...]
    mode: TraceMode


@attrs.frozen
class Generated:
    """What was written, and where."""

    output: Path

    traces: list[ModelTrace]
    layers: Sequence[UniqueLayer]


def generate(
    request: GenerationRequest, builds: Sequence[Build], output: Path, *, force: bool = False
) -> Generated:
    """Write the unique layers of the models to ``output``; ``force`` replaces what is there.

    Raises:
        UsageError: a model or an input is not understood, or the file cannot be written.
    """
    sources = [parse_source(model) for model in request.models]
    specs = [parse_input(text) for text in request.inputs]
    mode = request.mode
    check(sources, specs)
    if len(builds) != 1:
        raise UsageError(
            "models are analysed with one build", "Give --build once; the file runs on all."
        )
    if output.suffix != ".py":
        raise UsageError(f"--output {output}: a definition file ends in .py", "Name it so.")
    check_writable(output, "--output")  # taking models apart takes long
    if output.exists() and not force:
        raise UsageError(
            f"--output {output} exists", "Choose another file, or replace it with --force."
        )
    traces = [
        take_apart(builds[0], model, inputs_of(model, specs), mode, timeout_s=_TIMEOUT_S)
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
    return Generated(output, traces, layers)


def _again(request: GenerationRequest, output: Path) -> list[str]:
    """The options that write the same file again."""
    mode = request.mode
    words = [word for model in request.models for word in ("--model", model)]
    words += [word for spec in request.inputs for word in ("--input", spec)]
    words += [] if mode.level == "modules" else ["--level", mode.level]
    flags = {
        "--backward": mode.backward,
        "--train": mode.training,
        "--real-data": mode.real_data,
    }
    words += [flag for flag, is_set in flags.items() if is_set]
    return [*words, "--output", str(output), "--force"]


@attrs.frozen
class PredictionRequest:
    """Which models are predicted, and from which of their layers."""

    models: tuple[str, ...] = ()
    """Empty for all that were measured."""
    language: Language = Language.PYTHON
    autograd: AutogradMode = AutogradMode.FORWARD


def predict_models(
    run: str, request: PredictionRequest, runs: Runs, observer: Observer
) -> list[Prediction]:
    """Add up the layers of each model of a stored run or a result file.

    The observer learns which models have no such layers, unless they were asked for by name.

    Raises:
        UsageError: there is no such run, or it has no such layers of a model.
    """
    side = read_side(run, runs)
    return [predict(model) for model in _present(side, request, observer)]


def _present(side: Side, request: PredictionRequest, observer: Observer) -> list[MeasuredModel]:
    modes = request.language, request.autograd
    found = [measured(side.records.values(), name, *modes) for name in _names(side, request.models)]
    missing = [model for model in found if not (model.layers and model.has_autograd)]
    present = [model for model in found if model.layers and model.has_autograd]
    if not missing:
        return present
    names = ", ".join(model.model for model in missing)
    spelled = ", ".join(mode.option for mode in modes)
    text = f"{side.title} has no layers of {names} in {spelled}"
    if request.models or not present:
        written = "a file that generate wrote"
        if any(model.layers for model in missing):
            written += " with --backward"
        raise UsageError(text, f"Measure {written}:", "run --definitions FILE")
    observer.note(text)
    return present


def _names(side: Side, asked: Sequence[str]) -> Sequence[str]:
    known = models_in(side.records.values())
    if not known:
        raise UsageError(
            f"{side.title} has no layers of models",
            "Measure a definition file that generate wrote:",
            "generate --help",
        )
    for name in asked:
        if name not in known:
            raise UsageError(f'{side.title} has no model "{name}"', f"It has: {', '.join(known)}")
    return asked or known
