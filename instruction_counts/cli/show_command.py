"""``show``: the code of a case."""

from __future__ import annotations

import attrs
import click

from instruction_counts.cli.help import Command
from instruction_counts.cli.options import selection_options
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.selection import Selection
from instruction_counts.report.cases import code_document
from instruction_counts.sources.definitions import Definitions, load_cases


@click.command("show", cls=Command)
@click.argument("label")
@selection_options
@output_options()
def command(
    label: str, definitions: Definitions | None, selection: Selection, outputs: Outputs
) -> None:
    """Show the code of the cases at LABEL as it will be executed.

    LABEL is a glob over the label path, as for --only: 'Pointwise/Math/add/*'.
    """
    selection = attrs.evolve(selection, only=(*selection.only, label))
    outputs.write(code_document(load_cases(definitions, selection)))
