"""``selftest``: whether counts on this machine are exact, and how far layouts move them."""

from __future__ import annotations

import attrs
import click

from core.types import Case
from instruction_counts.builds.probing import probe
from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.help import Command
from instruction_counts.cli.merging import merged
from instruction_counts.cli.options import build_options, selection_options
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.selection import Selection, select
from instruction_counts.report import selftest as report
from instruction_counts.session.selftest import conditions, measure, representative
from instruction_counts.sources.definitions import Definitions, load
from instruction_counts.storage.noise import keep_noises


@click.command("selftest", cls=Command)
@selection_options
@build_options
@click.option(
    "--layouts",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    metavar="K",
    help="Also count in K other memory layouts: other addresses on the heap and the stack.",
)
@click.option(
    "--allocator",
    type=click.Choice(["steady", "system"]),
    default="steady",
    show_default=True,
    help="What allocates in the counted process, as for run.",
)
def command(
    definitions: Definitions | None,
    selection: Selection,
    builds: tuple[Build, ...],
    layouts: int,
    allocator: str,
) -> int:
    """Count a set of cases several times under different conditions, and compare.

    Fresh servers, another working directory and TMPDIR of this program, a busy machine and a larger
    inherited environment must not change a count. Without a selection, a representative set is
    taken. Exits with 4 where a case failed or its count changed.
    """
    definitions, builds, _, _ = merged(definitions, builds)
    if len(builds) != 1:
        names = ", ".join(build.name for build in builds)
        raise UsageError(f"a selftest measures one build, and there are: {names}", "Name one.")
    cases = load(definitions)
    cases = representative(cases) if selection == Selection() else select(cases, selection)
    facts = probe(builds[0])
    repeats: list[dict[Case, Outcome]] = []
    others: list[dict[Case, Outcome]] = []
    for condition in conditions(layouts):
        console.note(f"{len(cases)} cases, {condition.title}")
        outcomes = measure(cases, facts, condition, allocator, console)
        (others if condition.layout else repeats).append(outcomes)
    noises = report.noise_of(cases, repeats, others)
    fingerprint = attrs.evolve(facts.fingerprint, allocator=allocator)
    keep_noises(fingerprint, report.floors(noises), console.error)
    console.render(report.table(noises))
    console.line("")
    for line in report.summary(noises):
        console.line(line)
    repeated = all(noise.repeated for noise in noises)
    return ExitCode.OK if repeated else ExitCode.CASES_FAILED
