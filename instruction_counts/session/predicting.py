"""Models of a run as the sums of their measured layers."""

from __future__ import annotations

from collections.abc import Sequence

import attrs

from core.types import AutogradMode, Language
from instruction_counts.analysis.models.costs import MeasuredModel, measured, models_in
from instruction_counts.analysis.models.prediction import Prediction, predict
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.errors import UsageError
from instruction_counts.execution.events import Observer
from instruction_counts.session.sides import Runs, read_side


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
    """Add up the layers of each model of a stored run or a JSON file.

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
