"""``baseline check``: a run, or a build that is measured now, against a baseline."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from instruction_counts.cli import console
from instruction_counts.cli.check_report import conclude
from instruction_counts.cli.file_type import FILE
from instruction_counts.cli.gating import Gating, gate_options
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import measuring_options
from instruction_counts.cli.merging import merged
from instruction_counts.cli.options import (
    build_options,
    layouts_option,
    limit_option,
    only_build,
    output_option,
    selection_options,
    store_option,
)
from instruction_counts.cli.time_budget import time_budget_option
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.report.formats.entry import CheckReport
from instruction_counts.report.registry import Destination
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.session.checking import CheckRequest, check_build, check_run
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
@limit_option("Cases shown of each kind", 20)
@output_option("the check: .md or .json")
def command(
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
    limit: int,
    output: tuple[Path, ...],
    *,
    allow_different: bool,
) -> int:
    """Compare RUN, or a build that is measured now, with the baseline FILE.

    RUN is a stored run (its number or tag) or a JSON file. Without it, the build of --build is
    measured. Exits with 3 if a hard limit is exceeded.

    \b
    Examples:
      python main.py baseline check baseline.json --limits limits.yaml --junit junit.xml
      python main.py baseline check baseline.json 12 --output comment.md

    \f
    Without --build, the interpreter that runs this program is measured. The exit code is 4 where no
    limit is exceeded but cases failed, and 1 where nothing could be compared.
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if not measuring.counts:
        raise UsageError("--no-counts leaves nothing to check", "Drop it.")
    definitions, builds, measuring, db = merged(definitions, builds, measuring, db)
    destinations = [Destination.of(path, CheckReport) for path in output]
    if run is not None and builds != (default_build(),):
        raise UsageError("both a run and a build to measure are named", "Drop one.")
    build = only_build(builds, "a check")
    if time_budget is not None and run is not None:
        raise UsageError("--time-budget: nothing is measured", "Drop it, or the run.")
    request = attrs.evolve(
        CheckRequest.of(file, selection, previous),
        limits=gating.limits,
        fail_on=gating.fail_on,
        allow_different=allow_different,
    )
    with Store.open(db) as store:
        if run is not None:
            check = check_run(run, request, store)
        else:
            check = check_build(
                *(build, request, definitions, measuring, store, console),
                layouts=layouts,
                time_budget_s=time_budget,
            )
    return conclude(check, gating, destinations, limit)
