"""``list``: the cases that a selection holds."""

from __future__ import annotations

import json

import click

from core.types import Case
from instruction_counts.cli import console
from instruction_counts.cli.format_option import format_option
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import selection_options
from instruction_counts.domain.selection import Selection, select
from instruction_counts.sources.definitions import STANDARD, Definitions, load


@click.command("list", cls=Command)
@selection_options
@format_option("identity fields and code, as in the files of `run --output`")
def command(definitions: Definitions | None, selection: Selection, form: str) -> None:
    """List the cases that a selection holds; nothing is run.

    One line for each case: its label path and its modes, which together are its identity.
    """
    cases = select(load(definitions or STANDARD), selection)
    if form == "json":
        document = [_as_json(case) for case in cases]
        console.write(json.dumps(document, indent=2, allow_nan=False))
    else:
        console.write("\n".join(case.title for case in cases))
        console.note(f"{len(cases)} cases")


def _as_json(case: Case) -> dict[str, object]:
    return {
        "label": list(case.label),
        "language": case.autolabels.language.value,
        "runtime": case.autolabels.runtime.value,
        "autograd": case.autolabels.autograd.value,
        "num_threads": case.num_threads,
        "definition_hash": case.definition_hash,
        "stmt": case.timer_args.stmt,
        "setup": case.timer_args.setup,
        "global_setup": case.timer_args.global_setup,
        "metadata": dict(case.metadata),
    }
