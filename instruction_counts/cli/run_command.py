"""``run``: select, expand, measure, store, report."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli import console, stored_run
from instruction_counts.cli.exit_codes import ExitCode, no_findings
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import measuring_options, merged
from instruction_counts.cli.option_types import time_budget_option
from instruction_counts.cli.options import (
    build_options,
    selection_options,
    specification_of,
    store_option,
)
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.cli.reporting import result_files
from instruction_counts.domain.build import Build
from instruction_counts.domain.metrics import ALLOCATIONS
from instruction_counts.domain.selection import Selection
from instruction_counts.engines.engine import Ability
from instruction_counts.engines.registry import require
from instruction_counts.report.run import run_document
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.measuring import MeasuredRun
from instruction_counts.sources.definitions import Definitions, load_cases
from instruction_counts.storage.json_files import json_parts, read_json
from instruction_counts.storage.store import Store
from instruction_counts.system.files import check_writable


@click.command("run", cls=Command)
@selection_options
@build_options
@measuring_options
@click.option(
    "--skip-unavailable",
    is_flag=True,
    help="Skip the cases that a build cannot run because Valgrind or a C++ compiler is missing.",
)
@click.option(
    "--callgrind-out",
    type=click.Path(path_type=Path, file_okay=False),
    help="Keep Callgrind's raw file of each case (one window) in this folder, for KCachegrind.",
)
@click.option(
    "--resources/--no-resources",
    default=None,
    help="Also measure memory, floating point operations and what this machine can do, for eager "
    "Python  [default: for operators]",
)
@click.option("--allocations", is_flag=True, help="Also show allocation calls per iteration.")
@output_options()
@click.option(
    "--resume",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    help="Continue the run in a JSON file. Cases measured there are not measured again.",
)
@time_budget_option
@store_option
def command(
    definitions: Definitions | None,
    selection: Selection,
    builds: tuple[Build, ...],
    measuring: MeasurementSettings,
    skip_unavailable: bool,
    callgrind_out: Path | None,
    resources: bool | None,
    allocations: bool,
    outputs: Outputs,
    resume: Path | None,
    time_budget: float | None,
    db: str | None,
) -> int:
    """Measure cases: instructions per iteration (Callgrind) and wall times.

    The default is the standard suite on the current interpreter. Results come as a table, and as
    files with --output. Interrupt at any time: what is finished is kept, and --resume goes on.

    \b
    Examples:
      python main.py --only 'Pointwise/*/add' --only MatMul
      python main.py --language python --output result.json
      python main.py --build base=/usr/bin/python3 --build new=.venv
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if callgrind_out is not None:
        check_writable(callgrind_out / "callgrind.out", "--callgrind-out")
        require(measuring.engine, Ability.CALLGRIND_FILES, "--callgrind-out")
    definitions, builds, measuring, db = merged(definitions, builds, measuring, db)
    cases = load_cases(definitions, selection)
    specification = specification_of(definitions)
    exporters = outputs.exporters(run_document, result_files(specification))
    done = read_json(resume) if resume else None
    with Store.open(db) as store:
        runner = BuildRunner.of(builds, measuring, console, store)
        orders = runner.orders(cases, skip=skip_unavailable, resources=resources)
        files = exporters.values()
        measured = runner.run(orders, files, done, time_budget, callgrind_out)
        metrics = [ALLOCATIONS] if allocations else ()
        on_screen = specification is None or specification.reporters.screen
        document = run_document(measured.run, metrics, with_tables=on_screen)
        outputs.show(document, None, lambda: json_parts(measured.run, store.completed))
        written = stored_run.show_places(measured, exporters, store, outputs.say)
        if measured.interrupted:
            hint = stored_run.go_on(measured.run_id, written)
            console.error(f"Interrupted; what is finished is kept. {hint}".rstrip())
    return exit_code(measured)


def exit_code(measured: MeasuredRun) -> ExitCode:
    """What a script learns; results that did not arrive in the database or a file are an error."""
    if measured.interrupted:
        return ExitCode.INTERRUPTED
    if measured.has_failed_cases:
        return ExitCode.CASES_FAILED
    return no_findings(is_sound=measured.is_sound and not measured.unsaved)
