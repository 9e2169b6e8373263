"""``run``: select, expand, measure, store, report."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import attrs
import click

from core.types import Case
from instruction_counts.cli import console, stored_run
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import measuring_options
from instruction_counts.cli.merging import merged
from instruction_counts.cli.options import (
    build_options,
    selection_options,
    specification_of,
    store_option,
)
from instruction_counts.cli.reporting import Reporting
from instruction_counts.cli.shown_run import show_run
from instruction_counts.cli.time_budget import time_budget_option
from instruction_counts.domain.build import Build
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.selection import Selection, select
from instruction_counts.engines.entry import Ability
from instruction_counts.engines.registry import require
from instruction_counts.report.exporting import Exporter
from instruction_counts.session.builds import BuildRunner, MeasuredRun, MeasurementSettings
from instruction_counts.session.time_budget import planned, require_measured
from instruction_counts.sources.definitions import Definitions, load
from instruction_counts.storage.json_files import read_json
from instruction_counts.storage.store import Store
from instruction_counts.system.files import check_writable


@click.command("run", cls=Command)
@selection_options
@build_options
@measuring_options
@click.option(
    "--skip-unavailable",
    is_flag=True,
    help="Run what a build can, where it lacks Valgrind or a C++ compiler.",
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
@click.option("--allocations", is_flag=True, help="Show allocation calls per run too.")
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    help="Write results: .json, .json.gz, .csv or .md. They are saved as they come. Repeatable.",
)
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
    output: tuple[Path, ...],
    resume: Path | None,
    time_budget: float | None,
    db: str | None,
) -> int:
    """Measure cases: instructions per run (Callgrind) and wall times.

    The default is the standard suite on the current interpreter. Results come as a table, and as
    files with --output. Interrupt at any time: what is finished is kept, and --resume goes on.

    \b
    Examples:
      python main.py --only 'Pointwise/*/add' --only MatMul
      python main.py --language python --output result.json
      python main.py --build base=/usr/bin/python3 --build new=.venv
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if callgrind_out:
        require(measuring.engine, Ability.CALLGRIND_FILES, "--callgrind-out")
    definitions, builds, measuring, db = merged(definitions, builds, measuring, db)
    cases = select(load(definitions), selection)
    reporting = Reporting.of(specification_of(definitions))
    files = {path: Exporter(path) for path in (*output, *reporting.files)}
    _check_writable(files, callgrind_out)
    done = read_json(resume) if resume else None
    if callgrind_out is not None:
        callgrind_out.mkdir(parents=True, exist_ok=True)
    with Store.open(db) as store:
        runner = BuildRunner.of(builds, measuring, console, store)
        orders = [
            attrs.evolve(order, resources=_wants_resources(order.case, resources))
            for order in runner.orders(cases, skip=skip_unavailable)
        ]
        measured = runner.run(
            orders,
            exporters=files.values(),
            done=done,
            budget=planned(time_budget, cases, runner.names, store),
            callgrind_out=callgrind_out,
        )
        require_measured(measured.run)
        show_run(measured.run, allocations=allocations, with_tables=reporting.screen)
        written = _tell_where(measured, files, store)
    if measured.interrupted:
        hint = stored_run.go_on(measured.run_id, written)
        console.error(f"Interrupted; what is finished is kept. {hint}".rstrip())
    delivered = reporting.send(measured.run, interrupted=measured.interrupted)
    return _exit_code(measured, delivered=delivered and not measured.unsaved)


def _check_writable(files: Iterable[Path], callgrind_out: Path | None) -> None:
    """Raise before anything is measured."""
    for path in files:
        check_writable(path, "--output")
    if callgrind_out is not None:
        check_writable(callgrind_out / "callgrind.out", "--callgrind-out")


def _wants_resources(case: Case, asked: bool | None) -> bool:
    return "operator" in case.metadata if asked is None else asked


def _tell_where(measured: MeasuredRun, files: Mapping[Path, Exporter], store: Store) -> list[Path]:
    """Tell where the run is; the files that hold it."""
    written = [path for path, one in files.items() if one not in measured.unsaved]
    for path in written:
        console.line(f"Saved: {path}")
    if measured.run_id is not None:
        console.line(stored_run.saved(store, measured.run_id))
        for path in (path for path in files if path not in written):
            console.error(f"Not saved: {path}. {stored_run.kept(measured.run_id, path)}")
    return written


def _exit_code(measured: MeasuredRun, *, delivered: bool) -> ExitCode:
    if measured.interrupted:
        return ExitCode.INTERRUPTED
    bad = {Status.FAILED, Status.TIMEOUT}
    if any(record.outcome.status in bad for record in measured.ordered):
        return ExitCode.CASES_FAILED
    return ExitCode.OK if delivered else ExitCode.ERROR
