"""``predict``: a model as the sum of its measured layers."""

from __future__ import annotations

import click

from core.types import AutogradMode, Language
from instruction_counts.analysis.models.costs import Measured, measured, models_in
from instruction_counts.analysis.models.prediction import predict
from instruction_counts.analysis.verdicts.sides import Side, read_side
from instruction_counts.cli import console
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import store_option
from instruction_counts.domain.errors import UsageError
from instruction_counts.report import models as report
from instruction_counts.session.lazy_store import LazyStore
from instruction_counts.system.program import program_name

_LANGUAGES = {"python": Language.PYTHON, "c++": Language.CPP}
_AUTOGRADS = {"forward": AutogradMode.FORWARD, "backward": AutogradMode.FORWARD_BACKWARD}


@click.command("predict", cls=Command)
@click.argument("run")
@click.option(
    "--model", "models", multiple=True, metavar="NAME", help="Model to show.  [default: all]"
)
@click.option(
    "--language",
    type=click.Choice(list(_LANGUAGES), case_sensitive=False),
    default="python",
    show_default=True,
    help="Language of the layers.",
)
@click.option(
    "--autograd",
    type=click.Choice(list(_AUTOGRADS), case_sensitive=False),
    default="forward",
    show_default=True,
    help="Autograd mode of the layers. backward: forward and backward together.",
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
        side = read_side(run, runs, details=True)
    for number, one in enumerate(_present(side, models, language, autograd)):
        if number:
            console.line("")
        for part in report.predicted(predict(one)):
            console.render(part)


def _present(side: Side, models: tuple[str, ...], language: str, autograd: str) -> list[Measured]:
    """The models that were measured so; others are refused where they were asked for by name."""
    modes = _LANGUAGES[language], _AUTOGRADS[autograd]
    found = [measured(side.records.values(), name, *modes) for name in _chosen(side, models)]
    missing = [one for one in found if not (one.layers and one.has_autograd)]
    present = [one for one in found if one.layers and one.has_autograd]
    if not missing:
        return present
    names = ", ".join(one.model for one in missing)
    text = f"{side.title} has no layers of {names} in {language}, {autograd}"
    if models or not present:
        remedy = f"Measure them: {program_name()} run --definitions …"
        if any(one.layers for one in missing):
            remedy += ", of a file that generate wrote with --backward"
        raise UsageError(text, remedy)
    console.note(text)
    return present


def _chosen(side: Side, models: tuple[str, ...]) -> tuple[str, ...]:
    known = models_in(side.records.values())
    if not known:
        raise UsageError(
            f"{side.title} has no layers of models",
            f"Measure a definition file that generate wrote: {program_name()} generate --help",
        )
    for name in models:
        if name not in known:
            raise UsageError(f'{side.title} has no model "{name}"', f"It has: {', '.join(known)}")
    return models or known
