"""``env``: what a build is made of."""

from __future__ import annotations

import attrs
import click

from instruction_counts.builds.missing import missing
from instruction_counts.builds.probing import BuildFacts, probe
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import build_options
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.build import Build, default_build
from instruction_counts.report.document import Cell, Column, Document, Line, Role, Row, Table

_LONGEST = 56


@click.command("env", cls=Command)
@build_options
@output_options()
def command(builds: tuple[Build, ...], outputs: Outputs) -> None:
    """Show the fingerprint of each build: everything that can change a count besides the code."""
    facts = [probe(build) for build in builds or (default_build(),)]
    data = {found.build.name: attrs.asdict(found.fingerprint) for found in facts}
    notes = [
        Line(f"{found.build.name}: missing: {requirement}", Role.WARNING)
        for found in facts
        for requirement in missing(found)
    ]
    outputs.write(
        Document("env", sections=tuple(map(_table, facts)), notes=tuple(notes), data=data)
    )


def _table(found: BuildFacts) -> Table:
    rows = [
        Row((Cell(name), Cell(_shortened(str(value)))), indent=2)
        for name, value in attrs.asdict(found.fingerprint).items()
        if value != ""
    ]
    title = f"{found.build.name}  {found.interpreter}"
    columns = (Column("fact", ""), Column("value", ""))
    return Table(found.build.name, title, columns, tuple(rows))


def _shortened(text: str) -> str:
    """At most a line; JSON has the whole."""
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
