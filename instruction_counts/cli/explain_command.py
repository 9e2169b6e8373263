"""``explain``: what ran in a case, where its instructions went, and what changed."""

import attrs
import click

from instruction_counts.cli.help import Command
from instruction_counts.cli.options import choice, limit_option, mode_options, store_option
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.report.explain import SECTIONS, SOURCE, explanation_document
from instruction_counts.session.explaining import explain_sides, source_changes
from instruction_counts.session.sides import LazyStore, read_sides


@click.command("explain", cls=Command)
@click.argument("base")
@click.argument("new", metavar="[NEW] LABEL")  # the last of them is the label
@click.argument("label", required=False, metavar="")
@mode_options
@choice(
    "--by",
    [*SECTIONS, SOURCE],
    "What to show. source: the lines of the Python functions that changed, where their files are "
    "still there.  [default: all but source]",
    multiple=True,
)
@limit_option("Functions and operators shown")
@output_options("profiles")
@store_option
def explain_command(
    base: str,
    new: str,
    label: str | None,
    selection: Selection,
    by: tuple[str, ...],
    outputs: Outputs,
    db: str | None,
) -> None:
    """Show what a case executes, where its instructions go, and what changed.

    First what ran: Python functions by bytecodes, and operators. Then the native functions.
    Nothing is measured. BASE and NEW are each a stored run (its number, a tag, or "last") or a JSON
    file. RUN:NAME is one build of a run that has several; of a run with two builds, both are shown
    without NEW. LABEL is a glob that leaves one case.

    Examples:
      python main.py explain 12 MatMul/mm --language python
      python main.py explain 11 12 MatMul/mm --language python
      python main.py explain last Reduction/sum --output sum.speedscope.json
    """
    names, pattern = ([base, new], label) if label is not None else ([base], new)
    with LazyStore(db) as runs:
        sides = read_sides(names, runs)
        if SOURCE in by and len(sides) == 1:
            raise UsageError("--by source needs two builds", "Name BASE and NEW.")
        found = explain_sides(sides, attrs.evolve(selection, only=(pattern,)))
    found.require(by)
    document = explanation_document(
        found,
        tuple(by) or SECTIONS,
        source_changes(found.key, found.sides[0], found.sides[1]) if SOURCE in by else None,
        with_profiles=outputs.needs("profiles"),
    )
    outputs.write(document)
