"""``run``: select, expand, measure, store, report."""

from pathlib import Path

import attrs
import click

from instruction_counts.cli import console, stored_run
from instruction_counts.cli.exit_codes import ExitCode, exit_code
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import Asked, run_options, specification_of
from instruction_counts.cli.options import EXISTING_FILE, option, time_budget_option
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.selection import select
from instruction_counts.engines.registry import require_profile
from instruction_counts.report.run import run_document
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.measuring import MeasuredRun
from instruction_counts.sources.definitions import load_cases
from instruction_counts.storage.json_files import read_json
from instruction_counts.storage.store import Store
from instruction_counts.system.files import check_writable


@click.command("run", cls=Command)
@run_options
@option(
    "--callgrind-out",
    "DIRECTORY",
    "Keep Callgrind's raw file of each case (one window) in this folder, for KCachegrind.",
    type=click.Path(path_type=Path, file_okay=False),
)
@output_options()
@option(
    "--resume",
    "FILE",
    "Continue the run in a JSON file. Cases measured there are not measured again.",
    type=EXISTING_FILE,
)
@time_budget_option
def run_command(
    asked: Asked,
    callgrind_out: Path | None,
    outputs: Outputs,
    resume: Path | None,
) -> int:
    """Measure cases: instructions per iteration (Callgrind) and wall times.

    The default is the standard suite on the current interpreter. Results come as a table, and as
    files with --output. Interrupt at any time: what is finished is kept, and --resume goes on.

    Examples:
      python main.py --only 'Pointwise/*/add' --only MatMul
      python main.py --language python --output result.json
      python main.py --build base=/usr/bin/python3 --build new=.venv
    """
    if callgrind_out is not None:
        check_writable(callgrind_out / "callgrind.out", "--callgrind-out")
        require_profile(asked.how.settings.engine, "--callgrind-out")
    whole = load_cases(asked.how.definitions, attrs.evolve(asked.how.selection, shard=None))
    cases, shard = whole, None
    if asked.how.selection.shard is not None:
        cases = select(whole, asked.how.selection)
        shard = asked.how.selection.shard.of(whole, _what(asked.how.settings))
    specification = specification_of(asked.how.definitions)
    exporters = outputs.exporters(stored_run.result_files(specification))
    done = read_json(resume) if resume else None
    with Store(asked.db) as store:
        runner = BuildRunner.of(asked.builds, asked.how.settings, console, store)
        orders = runner.orders(cases, of_operators=True)
        measured = runner.run(
            orders, exporters, done, asked.how.time_budget_s, callgrind_out, shard
        )
        on_screen = specification is None or specification.reporters.screen
        document = run_document(measured.run, with_tables=on_screen)
        outputs.show(document, measured.run)
        written = stored_run.show_places(measured, exporters, store, outputs.say)
        if measured.interrupted:
            hint = stored_run.go_on(measured.run_id, written, store.option)
            console.error(f"Interrupted; what is finished is kept. {hint}".rstrip())
    return exit_code_of(measured)


def _what(settings: MeasurementSettings) -> str:
    """What is measured of each case."""
    asked = {"counts": settings.counts, "times": settings.times}
    return ", ".join([*(name for name, is_asked in asked.items() if is_asked), *settings.metrics])


def exit_code_of(measured: MeasuredRun) -> ExitCode:
    """What a script learns; results that did not arrive in the database or a file are an error."""
    return exit_code(
        interrupted=measured.interrupted,
        failed_cases=measured.has_failed_cases,
        is_sound=measured.run.is_sound and not measured.unsaved,
    )
