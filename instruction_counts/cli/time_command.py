"""``time``: one-line statements, measured at once."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import exit_code
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import measuring_options
from instruction_counts.cli.options import FILE, build_options, only_build, option
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.cli.statement_options import statement_options
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.work import Statements
from instruction_counts.report.statements import statements_document
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.timing import Saving, time_statements
from instruction_counts.system.program import program_name


@click.command("time", cls=Command)
@statement_options
@build_options
@measuring_options
@output_options()
@option("--save", "LABEL", "Append the statement to --definitions, under this label.")
@option("--definitions save_file", "FILE", "Definition file (.py) for --save.", type=FILE)
def time_command(
    asked: Statements,
    builds: tuple[Build, ...],
    measuring: MeasurementSettings,
    outputs: Outputs,
    save: str | None,
    save_file: Path | None,
) -> int:
    """Measure a one-line statement; of several, each is compared with the first.

    Written as for python -m timeit, except that each STMT is a statement of its own. "-" reads it,
    or a setup, from standard input. Nothing is stored without --save.

    \b
    Examples:
      python main.py time "x + y" -s "x = torch.ones(4, 4); y = x + 1"
      python main.py time "x + y" "torch.add(x, y)" -s "x = y = torch.ones(4)"
      python main.py time "x + x;" --cpp -s "auto x = torch::ones({4});"
    """  # noqa: D301 - \b keeps click from reflowing the examples
    build = only_build(builds, "time")
    if (save is None) is not (save_file is None):
        raise UsageError(
            "--save LABEL appends to --definitions FILE.py: one of them is missing", "Give both."
        )
    saving = Saving.at(save_file, save) if save is not None and save_file is not None else None
    timed = time_statements(asked, lambda: BuildRunner.of([build], measuring, console), saving)
    outputs.write(statements_document(timed.statements, timed.run))
    if timed.advice:
        console.note(timed.advice)
    if saving is not None:  # to stderr: stdout may hold a document for a program
        if timed.saved:
            words = shlex.join(["--definitions", str(save_file), "--only", str(save)])
            console.note(f"Saved in {save_file}. To measure it again: {program_name()} {words}")
        else:
            console.error(f"Nothing is saved in {save_file}: not all statements could be measured.")
    return exit_code(failed_cases=timed.has_failed_cases, is_sound=timed.is_sound)
