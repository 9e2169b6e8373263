"""``predict``: a model as the sum of its measured layers."""

from __future__ import annotations

import click

from core.types import AutogradMode, Language
from instruction_counts import console
from instruction_counts.cli.lazy_store import LazyStore
from instruction_counts.cli.options import store_option
from instruction_counts.compare.sides import Side, read_side
from instruction_counts.errors import UsageError
from instruction_counts.models.measured import Measured, measured, models_in
from instruction_counts.models.prediction import predict
from instruction_counts.report import models as report

_LANGUAGES = {"python": Language.PYTHON, "c++": Language.CPP}
_AUTOGRADS = {"forward": AutogradMode.FORWARD, "backward": AutogradMode.FORWARD_BACKWARD}


@click.command("predict")
@click.argument("run")
@click.option(
    "--model", "models", multiple=True, metavar="NAME", help="Repeatable.  [default: all]"
)
@click.option(
    "--language",
    type=click.Choice(list(_LANGUAGES), case_sensitive=False),
    default="python",
    show_default=True,
    help="Of the layers.",
)
@click.option(
    "--autograd",
    type=click.Choice(list(_AUTOGRADS), case_sensitive=False),
    default="forward",
    show_default=True,
    help="backward: forward and backward together.",
)
@store_option
def command(
    run: str, models: tuple[str, ...], language: str, autograd: str, db: str | None
) -> None:
    """Add the layers of a model up, beside the model measured as a whole; nothing is measured.

    RUN is a stored run (its number or tag) or a JSON file of `run --output`, of a definition file
    that `generate` wrote. RUN:NAME is one build of a run that has several. What remains unexplained
    is what a sum cannot hold: Python between the layers, and caches that a layer alone keeps warm.

    \b
    Examples:
      python main.py predict result.json
      python main.py predict 12 --model MobileNetV2 --autograd backward
    """  # noqa: D301 - \b keeps click from reflowing the examples
    with LazyStore(db) as runs:
        side = read_side(run, runs)
    found = [_measured(side, name, language, autograd) for name in _chosen(side, models)]
    for number, one in enumerate(found):
        if number:
            console.line("")
        for part in report.predicted(predict(one)):
            console.render(part)


def _measured(side: Side, model: str, language: str, autograd: str) -> Measured:
    found = measured(side.records.values(), model, _LANGUAGES[language], _AUTOGRADS[autograd])
    if found.layers and found.has_autograd:
        return found
    remedy = "Measure them: python main.py run --definitions …"
    if found.layers:
        remedy += ", of a file that generate wrote with --backward"
    raise UsageError(f"{side.title} has no layers of {model} in {language}, {autograd}", remedy)


def _chosen(side: Side, models: tuple[str, ...]) -> tuple[str, ...]:
    known = models_in(side.records.values())
    if not known:
        raise UsageError(
            f"{side.title} has no layers of models",
            "Measure a definition file that generate wrote: python main.py generate --help",
        )
    for name in models:
        if name not in known:
            raise UsageError(f'{side.title} has no model "{name}"', f"It has: {', '.join(known)}")
    return models or known
