"""Models: split into their unique layers as a definition file, and put together from results."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs

from instruction_counts.analysis.models import MeasuredModel, measured, models_in
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.core.facts import Use
from instruction_counts.core.types import AutogradMode, Language
from instruction_counts.domain.build import DEFAULT_NAME, Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.execution.events import Observer
from instruction_counts.session.sides import LazyStore, read_side
from instruction_counts.sources.inputs import inputs_of, parse_input, parse_source
from instruction_counts.sources.models.layers import (
    ModelLayer,
    ModelTrace,
    TraceMode,
    take_apart,
    unique_layers,
)
from instruction_counts.sources.models.writer import definition_file
from instruction_counts.system.files import check_writable, write_output

_TIMEOUT_S = 600.0


@attrs.frozen
class Generated:
    """What was written, and where."""

    output: Path
    traces: list[ModelTrace]
    layers: Mapping[ModelLayer, tuple[Use, ...]]
    build: Build

    @property
    def build_option(self) -> tuple[str, ...]:
        """What names the build to other commands, unless these take it anyway."""
        name = self.build.name
        return () if name == DEFAULT_NAME else ("--build", f"{name}={self.build.python}")


def generate(
    models: Sequence[str],
    inputs: Sequence[str],
    mode: TraceMode,
    build: Build,
    output: Path,
    *,
    force: bool = False,
) -> Generated:
    """Write the unique layers of the models to ``output``; ``force`` replaces what is there.

    Models and inputs are as the options are written.

    Raises:
        UsageError: a model or an input is not understood, or the file cannot be written.
    """
    sources, specs = list(map(parse_source, models)), list(map(parse_input, inputs))
    chosen = inputs_of(sources, specs)
    if output.suffix != ".py":
        raise UsageError(f"--output {output}: a definition file ends in .py", "Choose such a name.")
    check_writable(output, "--output")  # taking models apart takes long
    if output.exists() and not force:
        raise UsageError(
            f"--output {output} exists", "Choose another file, or replace it with --force."
        )
    traces = [
        take_apart(build, model, given, mode, timeout_s=_TIMEOUT_S)
        for model, given in zip(sources, chosen, strict=True)
    ]
    layers = unique_layers(traces)
    if not layers:
        raise UsageError("the models call nothing that can be measured", "See --level operators.")
    options = [
        *models,
        *(word for spec in inputs for word in ("--input", spec)),
        *([] if mode.level == "modules" else ["--level", mode.level]),
        *(["--backward"] if mode.backward else []),
        *(["--train"] if mode.training else []),
        *(["--real-data"] if mode.real_data else []),
        *([] if mode.device is None else ["--device", mode.device]),
        *(word for runtime in mode.runtimes for word in ("--runtime", runtime)),
        *("--output", str(output), "--force"),
    ]
    output.parent.mkdir(parents=True, exist_ok=True)
    text = definition_file(traces, layers, mode, options, output.parent)
    write_output(output, text, "--output")
    return Generated(output, traces, layers, build)


def predict_models(
    run: str,
    models: Sequence[str],
    modes: tuple[Language, AutogradMode],
    runs: LazyStore,
    observer: Observer,
) -> list[MeasuredModel]:
    """The layers of each of ``models`` of a stored run or a result file; of none, of all.

    The observer learns which models have no such layers, unless they were asked for by name.

    Raises:
        UsageError: there is no such run, or it has no such layers of a model.
    """
    side = read_side(run, runs)
    found = [measured(side.records.values(), name, *modes) for name in _names(side, models)]
    present = [each for each in found if (each.layers or each.missing) and each.has_autograd]
    missing = [model for model in found if model not in present]
    if missing:
        names = ", ".join(model.model for model in missing)
        spelled = ", ".join(mode.option for mode in modes)
        text = f"{side.title} has no layers of {names} in {spelled}"
        if models or not present:
            has_layers = any(model.layers or model.missing for model in missing)
            written = f"a file that generate wrote{' with --backward' if has_layers else ''}"
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
