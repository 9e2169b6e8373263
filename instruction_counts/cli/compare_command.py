"""``compare``: two builds, case by case, with a verdict, its reason and its causes."""

from __future__ import annotations

import click

from instruction_counts.cli import console
from instruction_counts.cli.gating import Gating, exit_code, gate_options
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import measuring_options, merged
from instruction_counts.cli.option_types import min_effect_option, time_budget_option
from instruction_counts.cli.options import (
    build_options,
    layouts_option,
    limit_option,
    selection_options,
    store_option,
)
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.build import Build
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.report.comparison import comparison_document
from instruction_counts.report.gate import case_tests, limits_block
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.session.comparing import ComparisonRequest, compare_sides
from instruction_counts.session.sides import LazyStore, named_sides
from instruction_counts.sources.definitions import Definitions


@click.command("compare", cls=Command)
@click.argument("base")
@click.argument("new", required=False, metavar="[NEW]")
@selection_options
@build_options
@measuring_options
@store_option
@min_effect_option
@layouts_option("verifies nothing")
@limit_option("Cases shown per verdict")
@output_options("tests")
@gate_options
@time_budget_option
def command(
    base: str,
    new: str | None,
    definitions: Definitions | None,
    selection: Selection,
    builds: tuple[Build, ...],
    measuring: MeasurementSettings,
    db: str | None,
    min_effect: Effect,
    layouts: int | None,
    limit: int | None,
    outputs: Outputs,
    gating: Gating,
    time_budget: float | None,
) -> int:
    """Compare two builds: BASE and NEW.

    Each is an interpreter or virtual environment, a stored run (its number, a tag, or "last"), a
    JSON file, or the name of a build given with --build. Exits with 3 if a case got worse.

    \b
    Examples:
      python main.py compare /usr/bin/python3 .venv --only 'Pointwise/*'
      python main.py compare 11 12
      python main.py compare before.json after.json --output report.md

    \f
    RUN:NAME is one build of a run that has several; a run of two builds is compared without NEW.
    Builds are measured now, and take turns, case by case. Cases that differ are counted again
    before they are reported, in fresh servers and in other memory layouts of both builds. The exit
    code is 3 where a case got worse by more than the limits allow (without limits, at all), or
    computes something else.
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if base == new:
        raise UsageError(f"base and new are both {base}", "Name two runs, files or builds.")
    defined_only = definitions is not None
    definitions, builds, measuring, db = merged(definitions, builds, measuring, db)
    names = [base] if new is None else [base, new]
    with LazyStore(db) as runs:
        sides = named_sides(names, builds, runs)
        is_measured = any(isinstance(side, Build) for side in sides)
        if not is_measured and time_budget is not None:
            raise UsageError("--time-budget: nothing is measured", "Drop it, or name a build.")
        request = ComparisonRequest(
            definitions,
            selection,
            measuring,
            min_effect,
            layouts,
            time_budget,
            defined_only=defined_only,
        )
        compared = compare_sides(sides[0], sides[1], request, runs, console)
    gate = gating.applied(compared.comparison)
    document = comparison_document(
        compared.comparison,
        compared.names_of(names),
        case_tests(gate),
        limits_block(gate) if gating.limits is not None else None,
    )
    outputs.write(document, limit)
    return exit_code(gate, interrupted=compared.interrupted, is_sound=compared.is_sound)
