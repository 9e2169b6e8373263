"""``time``: one-line statements, measured at once."""

import click

from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import exit_code
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import measuring_options
from instruction_counts.cli.options import one_build_options, only_build
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.cli.statement_options import statement_options
from instruction_counts.domain.build import Build
from instruction_counts.domain.work import Statements
from instruction_counts.report.run import statements_document
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.session.timing import time_statements


@click.command("time", cls=Command)
@statement_options
@one_build_options
@measuring_options
@output_options()
def time_command(
    asked: Statements,
    builds: tuple[Build, ...],
    measuring: MeasurementSettings,
    outputs: Outputs,
) -> int:
    r"""Measure a one-line statement; of several, each is compared with the first.

    Written as for python -m timeit, except that each STMT is a statement of its own. "-" reads it,
    or a setup, from standard input. Nothing is stored.

    Examples:
      python main.py time "x + y" -s "x = torch.ones(4, 4); y = x + 1"
      python main.py time "x + y" "torch.add(x, y)" -s "x = y = torch.ones(4)"
      python main.py time "x + x;" --language c++ \
        -s "auto x = torch::ones({4});"
    """
    build = only_build(builds, "time")
    timed = time_statements(asked, lambda: BuildRunner.of([build], measuring, console))
    outputs.write(statements_document(timed.statements, timed.run))
    if timed.advice:
        console.note(timed.advice)
    return exit_code(failed_cases=timed.has_failed_cases, is_sound=timed.run.is_sound)
