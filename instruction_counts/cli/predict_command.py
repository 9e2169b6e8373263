"""``predict``: a model as the sum of its measured layers."""

import click

from instruction_counts.cli import console
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import choice, store_option
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.core.labels import by_option
from instruction_counts.core.types import AutogradMode, Language
from instruction_counts.report import models as report
from instruction_counts.session.models import predict_models
from instruction_counts.session.sides import LazyStore


@click.command("predict", cls=Command)
@click.argument("run")
@click.argument("models", nargs=-1, metavar="[MODEL]...")
@choice("--language", by_option(Language), "Language of the layers.", default="python")
@choice(
    "--autograd",
    ["forward", "forward+backward"],
    "Passes of the layers.",
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
    JSON file. RUN:NAME is one build of it. MODEL is the name of a model there; the default is all
    of them. What remains unexplained is Python between the layers,
    and caches that a layer alone keeps warm.

    Examples:
      python main.py predict 12 MobileNetV2 --autograd forward+backward
    """
    modes = by_option(Language)[language], by_option(AutogradMode)[autograd]
    with LazyStore(db) as runs:
        outputs.write(report.predicted(predict_models(run, models, modes, runs, console)))
