"""``explain``: what ran in a case, where its instructions went, and what changed."""

from __future__ import annotations

from pathlib import Path

import attrs
import click

from instruction_counts.cli import console
from instruction_counts.cli.file_type import FILE
from instruction_counts.cli.help import Command
from instruction_counts.cli.options import (
    limit_option,
    mode_options,
    output_option,
    store_option,
)
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.report.breakdown import Breakdown
from instruction_counts.report.explain import SECTIONS, Explanation, Report
from instruction_counts.report.registry import Destination
from instruction_counts.session.explaining import explain_sides, write_callgrind, write_speedscope
from instruction_counts.session.lazy_store import LazyStore
from instruction_counts.session.sides import read_side
from instruction_counts.session.source_lines import source_changes


@click.command("explain", cls=Command)
@click.argument("base")
@click.argument("new", metavar="[NEW]")
@click.argument("label", required=False, metavar="LABEL")
@mode_options
@click.option(
    "--by",
    multiple=True,
    type=click.Choice(SECTIONS),
    help="What to show. Repeatable.  [default: all]",
)
@limit_option("Functions and operators shown", 15)
@click.option(
    "--source",
    is_flag=True,
    help="Show the lines of the Python functions that changed, where their files are still there.",
)
@output_option("the explanation: .json (everything), or .md for two sides")
@click.option(
    "--callgrind",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Write both sides for KCachegrind. Files: callgrind.out.base and callgrind.out.new.",
)
@click.option(
    "--speedscope",
    type=FILE,
    help="Write flame graphs for speedscope.app: base, new and the difference.",
)
@store_option
def command(
    base: str,
    new: str,
    label: str | None,
    modes: Selection,
    by: tuple[str, ...],
    limit: int,
    source: bool,
    output: tuple[Path, ...],
    callgrind: Path | None,
    speedscope: Path | None,
    db: str | None,
) -> None:
    """Show what a case executes, where its instructions go, and what changed.

    First what ran: Python functions by bytecodes, and operators. Then the native functions.
    Nothing is measured. Without NEW, only BASE is shown. BASE and NEW are each a stored run (its
    number or tag) or a JSON file. RUN:NAME is one build of a run that has several. LABEL is a glob
    that leaves one case.

    \b
    Examples:
      python main.py explain 12 Pointwise/Math/add/Tensor-Tensor --language python
      python main.py explain 11 12 Pointwise/Math/add/Tensor-Tensor --language python
      python main.py explain two.json:base two.json:new Reduction/sum --speedscope sum.json
    """  # noqa: D301 - \b keeps click from reflowing the examples
    names, pattern = ([base, new], label) if label is not None else ([base], new)
    kind = Report if len(names) > 1 else Breakdown
    destinations = [Destination.of(path, kind) for path in output]
    if len(names) == 1 and (callgrind or speedscope or source):
        raise UsageError(
            "--source, --callgrind and --speedscope need two sides", "Name BASE and NEW."
        )
    with LazyStore(db) as runs:
        sides = [read_side(name, runs) for name in names]
        found = explain_sides(sides, attrs.evolve(modes, only=(pattern,)), runs.completed)
        sections = tuple(by) or SECTIONS
        written: list[Path] = []
        report: Report | Breakdown
        if len(sides) == 1:
            report = Breakdown(found.key, found.sides[0], found.difference, sections, limit)
            console.render(report)
        else:
            before, after = found.sides
            explanation = Explanation(found.key, before, after, found.difference)
            lines = source_changes(found.key, before, after) if source else None
            report = Report(explanation, sections, limit, lines)
            console.render(report)
            title = found.key.title
            if callgrind is not None:
                written += write_callgrind(callgrind, title, *explanation.functions)
            if speedscope is not None:
                write_speedscope(speedscope, title, found.difference)
                written.append(speedscope)
        written += [destination.write(report) for destination in destinations]
    for path in written:
        console.line(f"Saved: {path}")
