"""``list`` and ``show``: the cases that a selection holds, and their code."""

import attrs
import click

from instruction_counts.cli import console
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import selection_options
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.selection import Selection
from instruction_counts.report.cases import code_document, list_document, name_of
from instruction_counts.report.format import plural
from instruction_counts.report.visible import visible_line
from instruction_counts.sources.definitions import Definitions, load_cases


@click.command("list", cls=Command)
@selection_options
@output_options()
def list_command(definitions: Definitions | None, selection: Selection, outputs: Outputs) -> None:
    """List the selected cases; nothing is measured.

    One line for each case: its label, as --only takes it, and what differs from Python, eager,
    forward.
    """
    cases = load_cases(definitions, selection)
    if outputs.destinations:
        outputs.write(list_document(cases))
    else:  # a line each is no table, and so has no need for rich
        console.write("\n".join(visible_line(name_of(case.key)) for case in cases))
    console.note(plural(len(cases), "case"))


@click.command("show", cls=Command)
@click.argument("label")
@selection_options
@output_options()
def show_command(
    label: str, definitions: Definitions | None, selection: Selection, outputs: Outputs
) -> None:
    """Show the code of the cases at LABEL as it will be executed.

    LABEL is a glob over the label path, as for --only: 'Pointwise/Math/add/*'.
    """
    selection = attrs.evolve(selection, only=(*selection.only, label))
    outputs.write(code_document(load_cases(definitions, selection)))
