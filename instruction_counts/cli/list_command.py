"""``list``: the cases that a selection holds."""

from __future__ import annotations

import json

import click

from instruction_counts.cli import console
from instruction_counts.cli.format_option import format_option
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import selection_options
from instruction_counts.domain.selection import Selection
from instruction_counts.report import cases as report
from instruction_counts.sources.definitions import Definitions, load_cases


@click.command("list", cls=Command)
@selection_options
@format_option("identity fields and code, as in the files of `run --output`")
def command(definitions: Definitions | None, selection: Selection, form: str) -> None:
    """List the selected cases; nothing is measured.

    One line for each case: its label path and its modes, which together are its identity.
    """
    cases = load_cases(definitions, selection)
    if form == "json":
        document = [report.as_json(case) for case in cases]
        console.write(json.dumps(document, indent=2, allow_nan=False))
    else:
        console.write("\n".join(case.title for case in cases))
        console.note(f"{len(cases)} cases")
