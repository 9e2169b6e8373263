"""``show``: the code of a case."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import click

from core.types import Case
from instruction_counts.cli import console
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import selection_options
from instruction_counts.domain.selection import Selection, select
from instruction_counts.sources.definitions import STANDARD, Definitions, load


@click.command("show", cls=Command)
@click.argument("label")
@selection_options
def command(label: str, definitions: Definitions | None, selection: Selection) -> None:
    """Show the code of the cases at LABEL as it will be executed.

    LABEL is a glob over the label path, as for --only: 'Pointwise/Math/add/*'.
    """
    selection = attrs.evolve(selection, only=(*selection.only, label))
    for number, case in enumerate(select(load(definitions or STANDARD), selection)):
        if number:
            console.write("")
        console.line(case.title, style="bold")
        for name, code in _parts(case):
            console.line(f"  {name}", style="cyan")
            for line in code.splitlines():
                console.line(f"    {line}".rstrip())


def _parts(case: Case) -> Iterator[tuple[str, str]]:
    args = case.timer_args
    yield "definition", case.definition_hash
    for name, code in (
        ("TorchScript model (made inside the build)", case.model_source),
        ("global setup", args.global_setup),
        ("setup", args.setup),
        ("statement", args.stmt),
    ):
        if code:
            yield name, code
