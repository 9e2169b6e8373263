"""``watch``: each new build is measured, and each step is reported once."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import measuring_options, merged
from instruction_counts.cli.option_types import FILE, DurationType, min_effect_option
from instruction_counts.cli.options import (
    build_command_option,
    layouts_option,
    selection_options,
    store_option,
)
from instruction_counts.cli.step_reporting import StepReporting
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.session.build_series import check_build_command
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.session.comparing import ComparisonRequest
from instruction_counts.session.watching import WatchRequest, watch
from instruction_counts.sources.definitions import Definitions
from instruction_counts.storage.store import Store


@click.command("watch", cls=Command)
@click.option(
    "--command",
    "listing",
    required=True,
    metavar="COMMAND",
    help="Shell command that prints the builds. NAME=PYTHON or commits, one per line, the "
    "oldest first.",
)
@build_command_option
@selection_options
@measuring_options
@layouts_option("only measures once more")
@min_effect_option
@click.option(
    "--output",
    type=FILE,
    multiple=True,
    metavar="FILE",
    help="Append each step to FILE as a line of JSON. - is stdout. Repeatable.",
)
@click.option(
    "--on-step",
    metavar="COMMAND",
    help="Shell command to run for each step. It gets the line of JSON on stdin.",
)
@click.option(
    "--state",
    "state_file",
    type=FILE,
    help="File that remembers what was seen  [default: one per watch in the user's data folder]",
)
@click.option(
    "--every",
    type=DurationType(),
    metavar="DURATION",
    help="Look again after each pause of this length  [default: look once]",
)
@store_option
def command(
    listing: str,
    build_cmd: str | None,
    definitions: Definitions | None,
    selection: Selection,
    measuring: MeasurementSettings,
    layouts: int | None,
    min_effect: Effect,
    output: tuple[Path, ...],
    on_step: str | None,
    state_file: Path | None,
    every: float | None,
    db: str | None,
) -> int:
    """Measure each new build, compare it with the one before, and report each step once.

    COMMAND prints the builds; those already seen are skipped. Without --every, it looks
    once, and exits with 3 if it found a new step.

    \b
    Examples:
      python main.py watch --command ./list_nightlies --only 'Pointwise/*' --output steps.jsonl
      python main.py watch --command 'git log --reverse --since=1.week --format=%H' \\
        --build-cmd './make_venv {commit}' --every 1h

    \f
    A suspect is measured again together with the build before it, in fresh servers and in other
    memory layouts, before it is reported.
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if not measuring.counts:
        raise UsageError("--no-counts leaves nothing to watch", "Drop it.")
    if build_cmd is not None:
        check_build_command(build_cmd)
    reporting = StepReporting(output, on_step)
    definitions, _, measuring, db = merged(definitions, (), measuring, db)
    compared = ComparisonRequest(definitions, selection, measuring, min_effect, layouts)
    request = WatchRequest(listing, build_cmd, compared, state_file)
    with Store.open(db) as store:
        found = watch(request, store, reporting, console, every)
    return ExitCode.REGRESSION if found else ExitCode.OK
