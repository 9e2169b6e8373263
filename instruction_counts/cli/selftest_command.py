"""``selftest``: whether counts on this machine are exact, and how far layouts move them."""

from __future__ import annotations

import click

from instruction_counts.cli import console, stored_run
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import merged
from instruction_counts.cli.options import (
    build_options,
    only_build,
    selection_options,
    store_option,
)
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.build import Build
from instruction_counts.domain.selection import Selection
from instruction_counts.report.selftest import selftest_document
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.selftest import run_selftest, selftest_cases
from instruction_counts.sources.definitions import Definitions
from instruction_counts.storage.store import Store


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
    help="Allocator of the counted process, as for run.",
)
@output_options()
@store_option
def command(
    definitions: Definitions | None,
    selection: Selection,
    builds: tuple[Build, ...],
    layouts: int,
    allocator: str,
    outputs: Outputs,
    db: str | None,
) -> int:
    """Count a set of cases several times under different conditions, and compare.

    Fresh servers, another working directory and TMPDIR of this program, another path of the build,
    a busy machine and a larger inherited environment must not change a count. Without a selection,
    it takes a representative set. The first counts are stored as a run, with the noise that was
    found, which comparisons and baselines of that run use. Exits with 4 where a case failed or
    its count changed.
    """
    definitions, builds, _, db = merged(definitions, builds, db=db)
    build = only_build(builds, "a selftest")
    cases = selftest_cases(definitions, selection)
    with Store.open(db) as store:
        settings = MeasurementSettings(allocator=allocator)
        runner = BuildRunner.of([build], settings, console)
        noises, run = run_selftest(runner, cases, layouts)
        outputs.write(selftest_document(noises))
        outputs.say(stored_run.saved(store, store.import_run(run)))
    repeated = all(noise.repeated for noise in noises)
    return ExitCode.OK if repeated else ExitCode.CASES_FAILED
