"""``watch``: each new build is measured, and each step alerts once."""

from __future__ import annotations

import functools
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import attrs
import click

from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.builds.configured import parse_build
from instruction_counts.cli import console
from instruction_counts.cli.durations import DurationType
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import measuring_options
from instruction_counts.cli.merging import merged
from instruction_counts.cli.min_effect import min_effect_option
from instruction_counts.cli.options import selection_options, store_option
from instruction_counts.domain.build import Build
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.history.watch_state import State, held, read_state, write_state
from instruction_counts.history.watching import text_of
from instruction_counts.history.webhook import Webhook
from instruction_counts.report.comparison import causes
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.session.lab import StoreLab
from instruction_counts.session.made_builds import check_build_command, made_build
from instruction_counts.session.watch_files import state_file_of
from instruction_counts.session.watching import AlertOutlets, StoreStation, listed, look, place_of
from instruction_counts.sources.definitions import Definitions
from instruction_counts.storage.store import Store

_TOKEN = "INSTRUCTION_COUNTS_TOKEN"  # noqa: S105 - the name of a variable


@click.command("watch", cls=Command)
@click.option(
    "--command",
    "listing",
    required=True,
    metavar="COMMAND",
    help="Shell command that prints the builds. NAME=PYTHON or commits, one per line, the "
    "oldest first.",
)
@click.option(
    "--build-cmd",
    metavar="COMMAND",
    help="Shell command that makes the build of {commit}. The last line that it prints is the "
    "interpreter or virtual environment.",
)
@selection_options
@measuring_options
@click.option(
    "--layouts",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    metavar="K",
    help="Memory layouts in which suspects are verified. 0 only measures once more.",
)
@min_effect_option
@click.option(
    "--alert",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Append each alert to FILE as a line of JSON.",
)
@click.option(
    "--webhook",
    envvar="INSTRUCTION_COUNTS_WEBHOOK",
    show_envvar=True,
    metavar="URL",
    help=f"POST each alert to URL as JSON. With the token in {_TOKEN}, if that is set.",
)
@click.option(
    "--state",
    "state_file",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File that remembers what was seen  [default: one per watch in the user's data folder]",
)
@click.option("--once", is_flag=True, help="Look once and exit. This is the default.")
@click.option(
    "--every",
    type=DurationType(),
    metavar="DURATION",
    help="Look again after each pause of this length.",
)
@store_option
def command(
    listing: str,
    build_cmd: str | None,
    definitions: Definitions | None,
    selection: Selection,
    measuring: MeasurementSettings,
    layouts: int,
    min_effect: Effect,
    alert: Path | None,
    webhook: str | None,
    state_file: Path | None,
    once: bool,
    every: float | None,
    db: str | None,
) -> int:
    """Measure each new build, compare it with the one before, and alert once for each step.

    COMMAND prints the builds; those already seen are skipped. Without --every, it looks
    once, and exits with 3 if it found a new step.

    \b
    Examples:
      python main.py watch --command ./list_nightlies --only 'Pointwise/*' --alert steps.jsonl
      python main.py watch --command 'git log --reverse --since=1.week --format=%H' \\
        --build-cmd './make_venv {commit}' --every 1h

    \f
    A suspect is measured again together with the build before it, in fresh servers and in other
    memory layouts, before it alerts.
    """  # noqa: D301 - \b keeps click from reflowing the examples
    if once and every is not None:
        raise UsageError("--once and --every contradict each other", "Drop one.")
    if not measuring.counts:
        raise UsageError("--no-counts leaves nothing to watch", "Drop it.")
    if build_cmd is not None:
        check_build_command(build_cmd)
    definitions, _, measuring, db = merged(definitions, (), measuring, db)
    hook = Webhook(webhook, os.environ.get(_TOKEN, ""), notice=console.note) if webhook else None
    outlets = AlertOutlets(
        _described, lambda alert: console.line(text_of(alert)), console, alert, hook
    )
    asked = [listing, build_cmd, str(definitions), attrs.asdict(selection)]
    with Store.open(db) as store:
        names = [json.dumps([*asked, place_of(store)]), json.dumps(asked)]
        path = state_file or state_file_of(*names)
        with held(path):
            state = read_state(path, *names)
            make = _given_build if build_cmd is None else _maker(build_cmd, state)
            lab = StoreLab(definitions, selection, measuring, store, layouts, console)
            station = StoreStation(make, lab, min_effect, console)
            save = functools.partial(write_state, path)

            def look_again(state: State) -> State:
                return look(state, listed(listing), station, outlets, save)

            return _watch(state, look_again, every)


def _maker(build_cmd: str, state: State) -> Callable[[str], Build]:
    made = {} if state.last is None else {state.last.python: state.last.name}
    return functools.partial(made_build, build_cmd, made=made, notice=console.note)


def _watch(state: State, look_again: Callable[[State], State], every: float | None) -> ExitCode:
    """Look once, or again and again with a pause of so many seconds."""
    while every is not None:
        try:
            state = look_again(state)
        except BuildError as error:
            console.error(str(error))
        time.sleep(every)
    found = len(look_again(state).alerts) - len(state.alerts)
    return ExitCode.REGRESSION if found else ExitCode.OK


def _given_build(line: str) -> Build:
    if "=" not in line:
        raise UsageError(
            f'--command prints "{line}", which is not NAME=PYTHON',
            "With commits, say how to make their builds: --build-cmd.",
        )
    return parse_build(line)


def _described(difference: Difference) -> tuple[str, tuple[str, ...]]:
    return difference.key.title, causes(difference)
