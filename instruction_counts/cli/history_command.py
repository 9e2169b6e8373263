"""``history``: the counts of cases over the stored runs, and the steps in them."""

import contextlib
import datetime as dt

import attrs
import click

from instruction_counts.cli.help import Command
from instruction_counts.cli.options import (
    Decorator,
    Written,
    gathered,
    min_effect_option,
    mode_options,
    option,
    several,
    store_option,
)
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.report import history as report
from instruction_counts.session.histories import HistoryRequest, history_of
from instruction_counts.storage.store import Store


def _date(text: str) -> dt.datetime:
    with contextlib.suppress(ValueError):
        found = dt.datetime.fromisoformat(text)
        if found.tzinfo is None:
            return found
    raise ValueError("expected a date such as 2026-01-31 or 2026-01-31T12:00")


def history_options(selecting: Decorator) -> Decorator:
    """Adds the options of a history of the cases that others select; it gets ``asked``."""
    since = option(
        "--since",
        "DATE",
        "Only runs since then (UTC): 2026-01-31. Or with a time: 2026-01-31T12:00.",
        type=Written("date", _date),
    )
    tags = several("--tag tags", "GLOB", "Only runs with a matching tag.")
    return gathered("asked", (selecting, since, tags, min_effect_option), HistoryRequest)


@click.command("history", cls=Command)
@click.argument("label")
@history_options(mode_options)
@output_options()
@store_option
def history_command(label: str, asked: HistoryRequest, outputs: Outputs, db: str | None) -> None:
    """Show the counts of cases over the stored runs, oldest first, with the steps in them.

    LABEL is a glob over the label path, as for --only. Nothing is measured.

    Examples:
      python main.py history MatMul/mm --language python
      python main.py history 'MatMul/*' --since 2026-01-31 --format csv
    """
    selection = attrs.evolve(asked.selection, only=(label,))
    with Store(db, must_exist=True) as store:
        found = history_of(attrs.evolve(asked, selection=selection), store)
    outputs.write(report.history(found.series, found.causes))
