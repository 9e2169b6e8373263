"""``baseline check``: a run, or a build that is measured now, against a baseline."""

from collections.abc import Sequence
from pathlib import Path

import click

from instruction_counts.cli import console, stored_run
from instruction_counts.cli.exit_codes import ExitCode, exit_code
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import (
    Asked,
    check_options,
    fail_on_option,
    gate_option,
    refuse_measuring,
)
from instruction_counts.cli.options import FILE, flag, limit_option, only_build, option
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.build import default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.gate.limits import FailOn, Limits
from instruction_counts.report.gate import check_document
from instruction_counts.session.checking import Check, check_side
from instruction_counts.session.sides import LazyStore


@click.command("check", cls=Command)
@click.argument("file", type=FILE)
@click.argument("run", required=False)
@check_options
@gate_option
@fail_on_option
@flag(
    "--allow-different",
    "Compare even if the compiler, C library, Python or instruction set differs.",
)
@option(
    "--previous",
    "FILE.json",
    "JSON of the last check, if it exists. What failed there fails until it is within its limit.",
    type=FILE,
)
@limit_option("Cases shown of each kind")
@output_options("tests")
def check(
    file: Path,
    run: str | None,
    asked: Asked,
    limits: Limits | None,
    fail_on: str,
    previous: Path | None,
    outputs: Outputs,
    *,
    allow_different: bool,
) -> int:
    """Compare RUN, or a build that is measured now, with the baseline FILE.

    RUN is a stored run (its number, a tag, or "last") or a JSON file. Without it, the build of
    --build is measured, or else the interpreter that runs this program. Exits with 3 if a hard
    limit is exceeded, with 4 if cases failed, and with 1 if nothing could be compared.

    Examples:
      python main.py baseline check baseline.json --gate limits.yaml
      python main.py baseline check baseline.json 12 --output junit.xml
    """
    if run is not None and asked.builds != (default_build(),):
        raise UsageError("both a run and a build to measure are named", "Drop one.")
    build = only_build(asked.builds, "a check")
    if run is not None:
        refuse_measuring("Drop it, or the run.")
    with LazyStore(asked.db) as runs:
        found = check_side(
            *(run or build, file, asked.how, runs, console),
            limits=limits,
            fail_on=FailOn(fail_on),
            allow_different=allow_different,
            previous=previous,
        )
    return conclude(found, file, outputs, runs.option)


def conclude(
    found: Check,
    file: Path,
    outputs: Outputs,
    option: Sequence[str] = (),
) -> ExitCode:
    """Show the check of ``file``, and only then write files: what it says is never lost with them.

    One that was interrupted shows what was found until then; files stay those of the last check
    that ended. ``option`` names the database of runs to other commands.

    Raises:
        UsageError: a file cannot be written, or no case was compared, and so nothing passed.
    """
    document = check_document(found.gate, interrupted=found.interrupted)
    if found.interrupted:
        outputs.show(document)
        again = ["baseline", "check", str(file), str(found.run_id)]
        console.error(stored_run.interrupted_comparison(found, again, option))
        return ExitCode.INTERRUPTED
    outputs.write(document)
    found.gate.require_comparison()
    return exit_code(
        regression=found.gate.fails,
        failed_cases=found.gate.has_failed_cases,
        is_sound=found.is_sound,
    )
