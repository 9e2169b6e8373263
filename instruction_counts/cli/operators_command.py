"""``operators``: list them, what they leave uncovered, and one over a range of sizes."""

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode, exit_code
from instruction_counts.cli.help import Group
from instruction_counts.cli.measuring import Asked, asking, counting_options
from instruction_counts.cli.options import (
    build_options,
    limit_option,
    mode_options,
    one_build_options,
    only_build,
    operators_file_option,
    overrides_options,
    several,
    store_option,
)
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.build import Build, default_build
from instruction_counts.domain.outcomes import Status
from instruction_counts.report import operators as report
from instruction_counts.session.builds import BuildRunner
from instruction_counts.session.operators import measure_sizes
from instruction_counts.sources.operators import catalogue
from instruction_counts.sources.operators.calls import Overrides
from instruction_counts.sources.operators.entries import read_operators
from instruction_counts.sources.operators.source import selected, without_cpp
from instruction_counts.storage.store import Store
from instruction_counts.system.cache import Cache


@click.group("operators", cls=Group)
def operators_command() -> None:
    """List operators, show which of torch's are not covered, or measure one over many sizes.

    To measure operators, use `run --operators PATTERN`; other commands that measure take it, too.
    """


@operators_command.command("list")
@click.argument("patterns", nargs=-1)
@operators_file_option
@output_options()
def list_(patterns: tuple[str, ...], operators_file: Path | None, outputs: Outputs) -> None:
    """List operators: by name (torch.add, add, 'torch.fft.*') or category:NAME; default all."""
    entries = selected(read_operators(operators_file), patterns or ("*",))
    # Those that come with the program all have what they do not exclude; a test says so.
    schemas = catalogue.load_schemas(default_build(), Cache()) if operators_file else None
    outputs.write(report.listed(entries, without_cpp(entries, schemas) if schemas else {}))


@operators_command.command("coverage")
@operators_file_option
@limit_option("Operators shown", 20)
@output_options()
@one_build_options
def coverage(operators_file: Path | None, outputs: Outputs, builds: tuple[Build, ...]) -> None:
    """Show which public operators of torch have no entry, those called most first."""
    build = only_build(builds, "coverage")
    entries = read_operators(operators_file)
    found = catalogue.coverage(build, entries)
    outputs.write(report.coverage(found, build.name, outputs.limit or 0))


@operators_command.command("sizes")
@click.argument("operator")
@click.argument("sizes_text", required=False, metavar="[SIZES]")
@operators_file_option
@several(
    "--input inputs",
    "NAME=SIZES",
    "Shape of one input, with N in it: input=N,64. Default: what the entry suggests, or else the "
    "first size of the first input is N, wherever it occurs.",
)
@overrides_options
@asking(mode_options, build_options, counting_options, store_option)
@output_options()
def sizes(
    operator: str,
    operators_file: Path | None,
    sizes_text: str | None,
    inputs: tuple[str, ...],
    overrides: Overrides,
    asked: Asked,
    outputs: Outputs,
) -> ExitCode:
    """Measure one operator over a range of sizes: where overhead ends and work begins.

    Prints the counts, the complexity that fits them best, and a plot. The default is eager
    forward in both languages.

    SIZES are the values of N: FIRST:LAST[:FACTOR] is a range, times FACTOR (4); 10,100,1000 a list.
    The default goes up to 65,536 elements in an input, fewer where the output is much larger.

    Examples:
      python main.py operators sizes torch.add
      python main.py operators sizes torch.mm 4:256:2 --language c++
      python main.py operators sizes torch.sum --input input=N,64
    """
    build = only_build(asked.builds, "sizes")
    with Store(asked.db) as store:
        found = measure_sizes(
            *(operator, asked.how.selection),
            lambda: BuildRunner.of([build], asked.how.settings, console, store),
            sizes=sizes_text or "",
            scale=inputs,
            overrides=overrides,
            file=operators_file,
        )
    outputs.write(report.sizes(found))
    failed = {record.outcome.status for record in found.run.cases} - {Status.OK}
    return exit_code(failed_cases=bool(failed), is_sound=found.run.is_sound)
