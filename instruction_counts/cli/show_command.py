"""``show``: the code of a case."""

from __future__ import annotations

import attrs
import click

from instruction_counts.cli import console
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import selection_options
from instruction_counts.domain.selection import Selection
from instruction_counts.report.cases import code_of
from instruction_counts.sources.definitions import Definitions, load_cases


@click.command("show", cls=Command)
@click.argument("label")
@selection_options
def command(label: str, definitions: Definitions | None, selection: Selection) -> None:
    """Show the code of the cases at LABEL as it will be executed.

    LABEL is a glob over the label path, as for --only: 'Pointwise/Math/add/*'.
    """
    selection = attrs.evolve(selection, only=(*selection.only, label))
    for number, case in enumerate(load_cases(definitions, selection)):
        if number:
            console.write("")
        console.line(case.title, style="bold")
        for name, code in code_of(case):
            console.line(f"  {name}", style="cyan")
            for line in code.splitlines():
                console.line(f"    {line}".rstrip())
