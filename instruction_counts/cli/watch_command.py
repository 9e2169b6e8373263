"""``watch``: each new build is measured, and each step is reported once."""

from __future__ import annotations

from pathlib import Path

import click

from instruction_counts.cli import console
from instruction_counts.cli.exit_codes import exit_code
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import Asked, asking, counting_options
from instruction_counts.cli.options import (
    DURATION,
    FILE,
    build_command_option,
    layouts_option,
    listing_option,
    min_effect_option,
    option,
    selection_options,
    several,
    store_option,
)
from instruction_counts.cli.output import check_folder
from instruction_counts.cli.step_reporting import StepReporting
from instruction_counts.domain.effects import Effect
from instruction_counts.session.build_series import check_build_command
from instruction_counts.session.comparing import ComparisonRequest
from instruction_counts.session.watching import WatchRequest, watch
from instruction_counts.storage.store import Store


@click.command("watch", cls=Command)
@listing_option(required=True)
@build_command_option
@layouts_option("only measures once more")
@min_effect_option
@several("--output", "FILE", "Append each step to FILE as a line of JSON. - is stdout.", type=FILE)
@option(
    "--on-step",
    "COMMAND",
    "Shell command to run for each step. It gets the line of JSON on stdin.",
)
@option(
    "--state state_file",
    "FILE",
    "File that remembers what was seen  [default: one per watch in the user's data folder]",
    type=FILE,
)
@option(
    "--every",
    "DURATION",
    "Look again after each pause of this length  [default: look once]",
    type=DURATION,
)
@asking(selection_options, counting_options, store_option)
def watch_command(
    listing: str,
    build_cmd: str | None,
    layouts: int | None,
    min_effect: Effect,
    output: tuple[Path, ...],
    on_step: str | None,
    state_file: Path | None,
    every: float | None,
    asked: Asked,
) -> int:
    """Measure each new build, compare it with the one before, and report each step once.

    COMMAND prints the builds; those already seen are skipped. Before a change is
    reported, both builds are measured again. Without --every, it looks once, and exits with 3 if
    it found a new step.

    \b
    Examples:
      python main.py watch --command ./list_nightlies --output steps.jsonl
      python main.py watch --every 1h --build-cmd './make_venv {commit}' \\
        --command 'git log --reverse --since=1.week --format=%H'
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if build_cmd is not None:
        check_build_command(build_cmd)
    for file in output:
        check_folder(file, f"--output {file}")
    how = (asked.definitions, asked.selection, asked.measuring, min_effect, layouts)
    request = WatchRequest(listing, build_cmd, ComparisonRequest(*how), state_file)
    with Store.open(asked.db) as store:
        found = watch(request, store, StepReporting(output, on_step), console, every)
    return exit_code(regression=bool(found))
