"""``baseline check``: a run, or a build that is measured now, against a baseline."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.gating import Gating, exit_code, gate_options
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import measuring_options, merged
from instruction_counts.cli.option_types import FILE, time_budget_option
from instruction_counts.cli.options import (
    build_options,
    layouts_option,
    limit_option,
    only_build,
    selection_options,
    store_option,
)
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.report.gate import check_document
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.session.checking import (
    Check,
    CheckRequest,
    check_build,
    check_run,
)
from instruction_counts.sources.definitions import Definitions
from instruction_counts.storage.store import Store


@click.command("check", cls=Command)
@click.argument("file", type=FILE)
@click.argument("run", required=False)
@selection_options
@build_options
@measuring_options
@store_option
@gate_options
@time_budget_option
@layouts_option("verifies nothing")
@click.option(
    "--allow-different",
    is_flag=True,
    help="Compare even if the compiler, C library, Python or instruction set differs.",
)
@click.option(
    "--previous",
    type=FILE,
    metavar="FILE.json",
    help="JSON of the last check, if it exists. What failed there fails until it is within "
    "its limit.",
)
@limit_option("Cases shown of each kind")
@output_options("tests")
def check(
    file: Path,
    run: str | None,
    definitions: Definitions | None,
    selection: Selection,
    builds: tuple[Build, ...],
    measuring: MeasurementSettings,
    db: str | None,
    gating: Gating,
    time_budget: float | None,
    layouts: int | None,
    previous: Path | None,
    limit: int | None,
    outputs: Outputs,
    *,
    allow_different: bool,
) -> int:
    """Compare RUN, or a build that is measured now, with the baseline FILE.

    RUN is a stored run (its number or tag) or a JSON file. Without it, the build of --build is
    measured. Exits with 3 if a hard limit is exceeded.

    \b
    Examples:
      python main.py baseline check baseline.json --gate limits.yaml --output junit.xml
      python main.py baseline check baseline.json 12 --output comment.md

    \f
    Without --build, the interpreter that runs this program is measured. The exit code is 4 where no
    limit is exceeded but cases failed, and 1 where nothing could be compared.
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if not measuring.counts:
        raise UsageError("--no-counts leaves nothing to check", "Drop it.")
    definitions, builds, measuring, db = merged(definitions, builds, measuring, db)
    if run is not None and builds != (default_build(),):
        raise UsageError("both a run and a build to measure are named", "Drop one.")
    build = only_build(builds, "a check")
    if time_budget is not None and run is not None:
        raise UsageError("--time-budget: nothing is measured", "Drop it, or the run.")
    request = CheckRequest.of(
        *(file, selection, previous),
        limits=gating.limits,
        fail_on=gating.fail_on,
        allow_different=allow_different,
    )
    with Store.open(db) as store:
        if run is not None:
            found = check_run(run, request, store)
        else:
            found = check_build(
                *(build, request, definitions, measuring, store, console),
                layouts=layouts,
                time_budget_s=time_budget,
            )
    return conclude(found, outputs, limit)


def conclude(found: Check, outputs: Outputs, limit: int | None = None) -> ExitCode:
    """Show the check, and only then write its files: what it says is never lost with them.

    One that was interrupted shows what was found until then; files stay those of the last check
    that ended.

    Raises:
        UsageError: a file cannot be written, or no case was compared, and so nothing passed.
    """
    document = check_document(found.gate, interrupted=found.interrupted)
    if found.interrupted:
        console.show(document, limit)
        console.error("Interrupted: this is what was found so far; no file was written.")
        return ExitCode.INTERRUPTED
    outputs.write(document, limit)
    found.require_comparison()
    return exit_code(found.gate, is_sound=found.is_sound)
