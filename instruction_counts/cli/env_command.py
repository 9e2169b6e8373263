"""``env``: what a build is made of."""

from __future__ import annotations

import json

import attrs
import click

from instruction_counts.builds.missing import missing
from instruction_counts.builds.probing import probe
from instruction_counts.cli import console
from instruction_counts.cli.format_option import format_option
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import build_options
from instruction_counts.domain.build import Build, default_build


@click.command("env", cls=Command)
@build_options
@format_option("an object with the fingerprint of each build, by its name")
def command(builds: tuple[Build, ...], form: str) -> None:
    """Show the fingerprint of each build: everything that can change a count besides the code."""
    builds = builds or (default_build(),)
    facts = [probe(build) for build in builds]
    if form == "json":
        data = {found.build.name: attrs.asdict(found.fingerprint) for found in facts}
        console.write(json.dumps(data, indent=2, allow_nan=False))
        return
    for build_facts in facts:
        console.line(f"{build_facts.build.name}  {build_facts.interpreter}", style="bold")
        for name, value in attrs.asdict(build_facts.fingerprint).items():
            if value != "":
                console.line(f"  {name:<19} {shorten(str(value))}")
        for requirement in missing(build_facts):
            console.note(f"  missing: {requirement}")


def shorten(text: str) -> str:
    """At most a line; `--format json` has the whole."""
    return text if len(text) <= 56 else text[:55] + "…"
