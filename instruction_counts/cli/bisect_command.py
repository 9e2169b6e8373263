"""``bisect``: the builds between which a case changed."""

from __future__ import annotations

from typing import TextIO

import attrs
import click

from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode, no_findings
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import measuring_options, merged
from instruction_counts.cli.option_types import min_effect_option
from instruction_counts.cli.options import (
    build_command_option,
    definitions_options,
    layouts_option,
    mode_options,
    store_option,
)
from instruction_counts.cli.ordered_builds import makers_of
from instruction_counts.cli.output import Outputs, output_options
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.report.history import bisection
from instruction_counts.session.bisecting import find_changes, only_case
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.session.comparing import ComparisonRequest
from instruction_counts.sources.definitions import Definitions
from instruction_counts.storage.store import Store


@click.command("bisect", cls=Command)
@click.argument("label")
@definitions_options
@mode_options
@click.option(
    "--build",
    "build",
    multiple=True,
    metavar="NAME=PYTHON",
    help="Interpreter or virtual environment, or a YAML file of builds. Repeatable, the oldest "
    "first.",
)
@click.option(
    "--commits",
    type=click.File(encoding="utf-8"),
    metavar="FILE",
    help="Commits, one per line, the oldest first. - is stdin.",
)
@build_command_option
@click.option("--fresh", is_flag=True, help="Do not use stored counts.")
@layouts_option("only measures once more")
@min_effect_option
@output_options()
@measuring_options
@store_option
def command(
    label: str,
    definitions: Definitions | None,
    modes: Selection,
    build: tuple[str, ...],
    commits: TextIO | None,
    build_cmd: str | None,
    fresh: bool,
    layouts: int | None,
    min_effect: Effect,
    outputs: Outputs,
    measuring: MeasurementSettings,
    db: str | None,
) -> int:
    """Find the builds between which a case changed: worse, better, or with other results.

    LABEL is a glob that leaves one case. Builds are given in order, the oldest first.
    Exits with 3 if the case got worse.

    \b
    Examples:
      python main.py bisect MatMul/mm --language python --runtime eager --build nightlies.yaml
      git log --reverse --format=%H v1..v2 > commits
      python main.py bisect MatMul/mm --language python --runtime eager \\
        --commits commits --build-cmd './make_venv {commit}'

    \f
    Only the builds that a bisection needs are measured. Stored counts are used again, and broken
    builds are skipped.
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if not measuring.counts:
        raise UsageError("--no-counts leaves nothing to bisect by", "Drop it.")
    definitions, _, measuring, db = merged(definitions, (), measuring, db)
    selection = attrs.evolve(modes, only=(label,))
    only_case(definitions, selection)
    request = ComparisonRequest(definitions, selection, measuring, min_effect, layouts)
    makers = makers_of(build, commits, build_cmd)
    with Store.open(db) as store:
        found = find_changes(makers, request, store, console, fresh=fresh)
    outputs.write(bisection(found))
    if not found.is_conclusive:
        console.error("Fewer than two builds can be measured.")
        return ExitCode.ERROR
    return ExitCode.REGRESSION if found.is_regression else no_findings(is_sound=found.is_sound)
