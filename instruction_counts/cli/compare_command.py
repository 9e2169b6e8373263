"""``compare``: two builds, case by case, with a verdict, its reason and its causes."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from instruction_counts.analysis.comparison import Comparison, compare
from instruction_counts.analysis.model_impact import Models
from instruction_counts.analysis.sides import Side, read_side
from instruction_counts.analysis.verdicts import MinEffect
from instruction_counts.cli import console
from instruction_counts.cli.compared_builds import ComparedBuilds
from instruction_counts.cli.gating import Gating, gate_options
from instruction_counts.cli.lazy_store import LazyStore
from instruction_counts.cli.measuring import measuring_options
from instruction_counts.cli.min_effect import min_effect_option
from instruction_counts.cli.options import build_options, is_given, selection_options, store_option
from instruction_counts.cli.time_budget import time_budget_option
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection, select
from instruction_counts.report import comparison as report
from instruction_counts.report import skipped_by_budget as left_out
from instruction_counts.report.formats.entry import (
    CheckReport,
    ComparisonReport,
    causes_by_case,
)
from instruction_counts.report.registry import Destination
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.sources.definitions import Definitions, load
from instruction_counts.storage.noise import read_noises

_SHOWN = 20


@click.command("compare")
@click.argument("base")
@click.argument("new")
@selection_options
@build_options
@measuring_options
@store_option
@min_effect_option
@click.option(
    "--layouts",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    metavar="K",
    help="Count suspects again in K memory layouts of both builds; 0 verifies nothing.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=_SHOWN,
    show_default=True,
    metavar="N",
    help="Show at most N cases of a verdict; 0 shows all.",
)
@click.option(
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    multiple=True,
    help="Write the comparison: .json, .json.gz, .csv or .md. Repeatable.",
)
@gate_options
@time_budget_option
def command(
    base: str,
    new: str,
    definitions: Definitions,
    selection: Selection,
    builds: tuple[Build, ...],
    measuring: MeasurementSettings,
    db: str | None,
    min_effect: MinEffect,
    layouts: int,
    limit: int,
    output: tuple[Path, ...],
    gating: Gating,
    time_budget: float | None,
) -> int:
    """Compare two builds: BASE and NEW.

    Each is a stored run (its number or tag), a JSON file of `run --output`, or the name of a build
    given with --build or --config, which is then measured now. RUN:NAME is one build of a run that
    has several.

    Builds that are measured now take turns, case by case. What differs is counted again, in fresh
    servers and in other memory layouts of both, before it is reported. Exits with 3 where a case
    got worse by more than the limits allow (without any, at all), or computes something else.

    \b
    Examples:
      python main.py compare base new --build base=/usr/bin/python3 --build new=.venv
      python main.py compare 11 12 --only 'Pointwise/*'
      python main.py compare before.json after.json --output report.md
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if base == new:
        raise UsageError(f"both sides are {base}", "Name two runs, files or builds.")
    destinations = [Destination.of(path, ComparisonReport) for path in output]
    named = {build.name: build for build in builds}
    to_measure = [named[name] for name in (base, new) if name in named]
    if not to_measure and time_budget is not None:
        raise UsageError("--time-budget: nothing is measured", "Drop it, or name a build.")
    with LazyStore(db, must_exist=not to_measure) as runs:
        store = runs.opened() if to_measure else None
        measured = ComparedBuilds(definitions, selection, measuring, store, time_budget)
        sides = {  # first: what is not there must not cost a measurement
            name: narrowed(read_side(name, runs), selection, name)
            for name in (base, new)
            if name not in named
        }
        sides = {name: _stated(side, definitions, selection) for name, side in sides.items()}
        if to_measure:
            sides |= measured.sides(to_measure)
        comparison = compare(sides[base], sides[new], read_noises(), min_effect)
        suspects = comparison.suspects
        if len(to_measure) == 2 and suspects and layouts and not measured.interrupted:
            comparison = measured.check(comparison, layouts)
    _show(comparison, limit)
    gate = gating.applied(comparison)
    gating.show(gate)
    # Only now, so that what was found is shown also where a file cannot be written.
    causes = causes_by_case(comparison.differences, report.causes)
    written = ComparisonReport(comparison, causes)
    paths = [destination.write(written) for destination in destinations]
    for path in gating.write_junit(CheckReport(gate, causes), paths):
        console.line(f"Saved: {path}")
    return gating.exit_code(gate, interrupted=measured.interrupted)


def _stated(side: Side, definitions: Definitions, selection: Selection) -> Side:
    """The cases that definitions, or operators, give; all of them where none were asked for.

    Raises:
        UsageError: the side holds none of them.
    """
    if not (is_given("definitions") or is_given("operators")):
        return side
    keys = frozenset(case.key for case in select(load(definitions), selection))
    kept = {key: one for key, one in side.records.items() if key in keys}
    if not kept:
        raise UsageError(f"{side.title} holds no case of these definitions", "See: runs show")
    return attrs.evolve(side, records=kept)


def narrowed(side: Side, selection: Selection, name: str) -> Side:
    """The selected cases of a side that was stored as ``name``.

    Raises:
        UsageError: there are none.
    """
    kept = {key: one for key, one in side.records.items() if selection.keeps_key(key)}
    if not kept:
        raise UsageError(f"{name} holds no case that is selected", "See: runs show")
    return attrs.evolve(side, records=kept)


def _show(comparison: Comparison, limit: int) -> None:
    for text in report.head(comparison):
        console.render(text)
    titles = report.skipped_titles(comparison)
    for line in left_out.lines(titles, len(comparison.differences), limit):
        console.line(line, style="yellow")
    models = Models(comparison.base.records.values())
    for section in report.sections(comparison):
        console.line("")
        console.line(f"{section.title}  {section.explanation}".rstrip(), style=section.style)
        shown = section.differences[: limit or None]
        for one in shown:
            for text in report.lines(one, models):
                console.render(report.indented(text))
        left = len(section.differences) - len(shown)
        if left:
            console.line(f"  … and {left} more (--limit 0 shows all)")
    console.line("")
    console.line(report.last_line(comparison))
