"""``compare``: two builds, case by case, with a verdict, its reason and its causes."""

import click

from instruction_counts.cli import console, stored_run
from instruction_counts.cli.exit_codes import ExitCode, exit_code
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import (
    Asked,
    compare_options,
    fail_on_times_option,
    gate_option,
    refuse_measuring,
)
from instruction_counts.cli.options import limit_option
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.metrics import CYCLES
from instruction_counts.gate.limits import FailOn, Limits, apply_limits
from instruction_counts.report.comparison import comparison_document
from instruction_counts.report.gate import case_tests, limits_block
from instruction_counts.session.checking import note_unused
from instruction_counts.session.comparing import compare_sides
from instruction_counts.session.sides import LazyStore, keys_of, named_sides

_IN_TURNS = "Measure both builds in one compare, without --no-times."


@click.command("compare", cls=Command)
@click.argument("base")
@click.argument("new", required=False, metavar="[NEW]")
@compare_options
@limit_option("Cases shown per verdict")
@output_options("tests")
@gate_option
@fail_on_times_option
def compare_command(
    base: str,
    new: str | None,
    asked: Asked,
    outputs: Outputs,
    limits: Limits | None,
    fail_on: str,
) -> int:
    """Compare two builds: verdicts on each case, and what caused them.

    Each is an interpreter or virtual environment, a JSON file, the name of a --build, or a run:
    its number, a tag, "last". RUN:NAME is one build of it; a run of two builds needs no NEW. Exits
    with 3 if a case got worse.

    Examples:
      python main.py compare /usr/bin/python3 .venv --only 'Pointwise/*'
      python main.py compare 11 last
      python main.py compare before.json after.json --output report.md
    """
    if base == new:
        raise UsageError(f"base and new are both {base}", "Name two runs, files or builds.")
    names = [base] if new is None else [base, new]
    with LazyStore(asked.db) as runs:
        sides = named_sides(names, asked.builds, runs)
        measured = sum(isinstance(side, Build) for side in sides)
        if not measured:
            refuse_measuring("Drop it, or compare a build.")
        when, how = FailOn(fail_on), asked.how
        judges_cycles, judges_times = when is FailOn.CYCLES, when is FailOn.SLOWER
        if judges_cycles and measured and CYCLES.name not in how.settings.metrics:
            raise UsageError("--fail-on cycles: none are estimated", "Add --metrics cycles.")
        takes_turns = measured == 2 and how.settings.times_in_turns
        if judges_times and measured and not takes_turns:
            raise UsageError("--fail-on slower: nothing is timed in turns", _IN_TURNS)
        if limits is not None:
            known = keys_of(sides, how.definitions)
            note_unused(limits, known, " or ".join(names), console)
        compared = compare_sides(sides[0], sides[1], how, runs, console)
    cases, is_whole = compared.comparison.differences, not compared.interrupted
    if judges_cycles and is_whole and not any(case.cycles for case in cases):
        problem = "--fail-on cycles: no case has estimated cycles on both sides"
        raise UsageError(problem, "Measure both with --metrics cycles, and the same --machine.")
    if judges_times and is_whole and not any(case.time and case.time.verdict for case in cases):
        raise UsageError("--fail-on slower: no case was timed in turns", _IN_TURNS)
    gate = apply_limits(compared.comparison, limits, when)
    document = comparison_document(
        compared.comparison,
        [*compared.names_of(names), *runs.option],
        case_tests(gate),
        limits_block(gate) if limits is not None else None,
        interrupted=compared.interrupted,
    )
    if compared.interrupted:
        outputs.show(document)
        again = ["compare", *compared.names_of(names)]
        console.error(stored_run.interrupted_comparison(compared, again, runs.option))
        return ExitCode.INTERRUPTED
    outputs.write(document)
    if when is not FailOn.NEVER:
        gate.require_comparison("The reasons are above. Compare counted runs of the same cases.")
    return exit_code(
        regression=gate.fails,
        failed_cases=gate.has_failed_cases,
        is_sound=compared.is_sound,
    )
