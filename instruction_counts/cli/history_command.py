"""``history``: the counts of cases over the stored runs, and the steps in them."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable
from typing import Any

import attrs
import click

from instruction_counts.cli.help import Command
from instruction_counts.cli.options import (
    Written,
    min_effect_option,
    mode_options,
    option,
    several,
    store_option,
)
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.selection import Selection
from instruction_counts.report import history as report
from instruction_counts.session.histories import history_of
from instruction_counts.storage.store import Store


def _date(text: str) -> dt.datetime:
    with contextlib.suppress(ValueError):
        found = dt.datetime.fromisoformat(text)
        if found.tzinfo is None:
            return found
    raise ValueError("expected a date such as 2026-01-31 or 2026-01-31T12:00")


def runs_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that select stored runs; the command gets ``since`` and ``tag``."""
    since = option(
        "--since",
        "DATE",
        "Only runs since then (UTC): 2026-01-31. Or with a time: 2026-01-31T12:00.",
        type=Written("date", _date),
    )
    return since(several("--tag", "GLOB", "Only runs with a matching tag.")(function))


@click.command("history", cls=Command)
@click.argument("label")
@mode_options
@runs_options
@min_effect_option
@output_options()
@store_option
def history_command(
    label: str,
    selection: Selection,
    since: dt.datetime | None,
    tag: tuple[str, ...],
    min_effect: Effect,
    outputs: Outputs,
    db: str | None,
) -> None:
    """Show the counts of cases over the stored runs, oldest first, with the steps in them.

    LABEL is a glob over the label path, as for --only. Nothing is measured.

    \b
    Examples:
      python main.py history MatMul/mm --language python
      python main.py history 'MatMul/*' --since 2026-01-31 --format csv
    """  # noqa: D301 - \b keeps click from reflowing the examples
    selection = attrs.evolve(selection, only=(label,))
    with Store(db, must_exist=True) as store:
        found = history_of(selection, store, since=since, tags=tag, min_effect=min_effect)
    outputs.write(report.history(found.series, found.causes))
