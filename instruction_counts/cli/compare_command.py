"""``compare``: two builds, case by case, with a verdict, its reason and its causes."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.gating import Gating, exit_code, gate_options
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import measuring_options
from instruction_counts.cli.merging import merged
from instruction_counts.cli.min_effect import min_effect_option
from instruction_counts.cli.options import (
    build_options,
    layouts_option,
    limit_option,
    output_option,
    selection_options,
    store_option,
)
from instruction_counts.cli.shown_comparison import show_comparison
from instruction_counts.cli.time_budget import time_budget_option
from instruction_counts.domain.build import Build
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.report.formats.entry import CheckReport, ComparisonReport
from instruction_counts.report.registry import Destination
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.session.comparing import ComparisonRequest, compare_sides
from instruction_counts.session.lazy_store import LazyStore
from instruction_counts.sources.definitions import Definitions


@click.command("compare", cls=Command)
@click.argument("base")
@click.argument("new")
@selection_options
@build_options
@measuring_options
@store_option
@min_effect_option
@layouts_option("verifies nothing")
@limit_option("Cases shown per verdict", 20)
@output_option("the comparison: .json, .csv or .md. Also .json.gz")
@gate_options
@time_budget_option
def command(
    base: str,
    new: str,
    definitions: Definitions | None,
    selection: Selection,
    builds: tuple[Build, ...],
    measuring: MeasurementSettings,
    db: str | None,
    min_effect: Effect,
    layouts: int | None,
    limit: int,
    output: tuple[Path, ...],
    gating: Gating,
    time_budget: float | None,
) -> int:
    """Compare two builds: BASE and NEW.

    Each is a stored run (number or tag), a JSON file, or the name of a build given with --build.
    Exits with 3 if a case got worse.

    \b
    Examples:
      python main.py compare base new --build base=/usr/bin/python3 --build new=.venv
      python main.py compare 11 12 --only 'Pointwise/*'
      python main.py compare before.json after.json --output report.md

    \f
    RUN:NAME is one build of a run that has several. Builds are measured now, and take turns, case
    by case. Cases that differ are counted again before they are reported, in fresh servers and in
    other memory layouts of both builds. The exit code is 3 where a case got worse by more than the
    limits allow (without limits, at all), or computes something else.
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if base == new:
        raise UsageError(f"both sides are {base}", "Name two runs, files or builds.")
    defined_only = definitions is not None
    definitions, builds, measuring, db = merged(definitions, builds, measuring, db)
    destinations = [Destination.of(path, ComparisonReport) for path in output]
    named = {build.name: build for build in builds}
    sides = [named.get(name, name) for name in (base, new)]
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
    with LazyStore(db, must_exist=not is_measured) as runs:
        compared = compare_sides(sides[0], sides[1], request, runs, console)
    comparison = compared.comparison
    show_comparison(comparison, limit)
    gate = gating.applied(comparison)
    gating.show(gate)
    # Only now, so that what was found is shown also where a file cannot be written.
    report = ComparisonReport(comparison)
    paths = [destination.write(report) for destination in destinations]
    for path in gating.write_junit(CheckReport(gate), paths):
        console.line(f"Saved: {path}")
    return exit_code(gate, interrupted=compared.interrupted, is_sound=compared.is_sound)
