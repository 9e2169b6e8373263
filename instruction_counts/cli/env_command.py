"""``env``: what a build is made of, and what it and this machine lack."""

from __future__ import annotations

import attrs
import click

from instruction_counts.builds.missing import missing
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.builds.symbols import advice_on_names
from instruction_counts.cli import console
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import build_options, compiler_option
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.build import Build, default_build
from instruction_counts.execution.cores import available_cores
from instruction_counts.report.document import Column, Document, Line, Role, Row, Table
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.system.steadiness import Surroundings


@click.command("env", cls=Command)
@build_options
@compiler_option
@output_options()
def env_command(builds: tuple[Build, ...], compiler: str, outputs: Outputs) -> None:
    """Show the fingerprint of each build: everything that can change a count besides the code.

    It ends with how to get names for the interpreter's functions, and with what makes wall times
    unsteady on this machine.
    """
    settings = MeasurementSettings(compiler=compiler)
    probed = [settings.probe(build, console.note) for build in builds or (default_build(),)]
    facts = [attrs.evolve(found, fingerprint=settings.fingerprint(found)) for found in probed]
    data = {found.build.name: attrs.asdict(found.fingerprint) for found in facts}
    notes = [
        Line(f"{found.build.name}: missing: {requirement}", Role.WARNING)
        for found in facts
        for requirement in missing(found)
    ]
    notes += [
        Line(f"{found.build.name}: {advice}")
        for found in facts
        if (advice := advice_on_names(found.interpreter))
    ]
    notes += [Line(f"Times: {text}") for text in Surroundings(available_cores()).advice()]
    outputs.write(
        Document("env", sections=tuple(map(_table, facts)), notes=tuple(notes), data=data)
    )


def _table(found: BuildFacts) -> Table:
    """What is known of a build; each fact is cut to a line, and JSON has the whole."""
    texts = {name: str(value) for name, value in attrs.asdict(found.fingerprint).items()}
    rows = [
        Row([name, text if len(text) <= 56 else f"{text[:55]}…"], indent=2)
        for name, text in texts.items()
        if text
    ]
    title = f"{found.build.name}  {found.interpreter}"
    return Table(found.build.name, title, (Column("fact", ""), Column("value", "")), tuple(rows))
