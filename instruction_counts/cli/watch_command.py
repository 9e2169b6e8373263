"""``watch``: each new build is measured, and each step alerts once."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import re
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs
import click
from platformdirs import user_data_path

from core.types import CaseKey
from instruction_counts.analysis.comparison import Comparison, compare
from instruction_counts.analysis.sides import Side, side_of
from instruction_counts.analysis.verdicts import Difference
from instruction_counts.builds.configured import parse_build
from instruction_counts.cli import console
from instruction_counts.cli.bisect_command import COMMIT, StoreLab, made_build
from instruction_counts.cli.durations import DurationType
from instruction_counts.cli.exit_codes import ExitCode
from instruction_counts.cli.help import Command
from instruction_counts.cli.measuring import measuring_options
from instruction_counts.cli.merging import merged
from instruction_counts.cli.min_effect import min_effect_option
from instruction_counts.cli.options import selection_options, store_option
from instruction_counts.domain.build import Build
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.errors import BuildError, DataError, UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.history import watching
from instruction_counts.history.watch_state import (
    Alert,
    LastBuild,
    State,
    held,
    read_state,
    write_state,
)
from instruction_counts.history.watching import Station
from instruction_counts.history.webhook import Webhook
from instruction_counts.report.comparison import causes, title_of
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.sources.definitions import Definitions
from instruction_counts.storage.noise import read_noises
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
    if build_cmd is not None and COMMIT not in build_cmd:
        raise UsageError(f"--build-cmd does not say {COMMIT}", "It stands for the commit.")
    definitions, _, measuring, db = merged(definitions, (), measuring, db)
    outlets = Outlets(
        alert,
        Webhook(webhook, os.environ.get(_TOKEN, ""), notice=console.note) if webhook else None,
    )
    asked = [listing, build_cmd, str(definitions), attrs.asdict(selection)]
    with Store.open(db) as store:
        names = [json.dumps([*asked, place_of(store)]), json.dumps(asked)]
        path = state_file or _state_file(*names)
        with held(path):
            state = read_state(path, *names)
            made = {} if state.last is None else {state.last.python: state.last.name}
            make = (
                functools.partial(made_build, build_cmd, made=made) if build_cmd else _given_build
            )
            lab = StoreLab(definitions, selection, measuring, store, layouts)
            station = StoreStation(make, lab, min_effect)
            save = functools.partial(write_state, path)

            def look_again(state: State) -> State:
                return look(state, listed(listing), station, outlets.send, save)

            return _watch(state, look_again, every)


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


def place_of(store: Store) -> str:
    """Which database it is, wherever the program is started: runs are known by their numbers."""
    return store.name if "://" in store.name else str(Path(store.name).resolve())


def look(
    state: State,
    lines: str,
    station: Station,
    send: Callable[[Alert], None],
    save: Callable[[State], None],
) -> State:
    """Look at the builds in ``lines`` that are new, and save the state after each."""
    state = watching.deliver(state, send, save, console.note)
    for name in watching.new_names(lines, state.seen):
        before = len(state.alerts)
        state = watching.look_at(state, name, station, _described, console.note)
        save(state)
        for one in state.alerts[before:]:
            console.line(watching.text_of(one))
        state = watching.deliver(state, send, save, console.note)
    return state


def listed(source: str) -> str:
    """What the command prints that tells the builds.

    Raises:
        BuildError: it fails.
    """
    done = subprocess.run(
        ["/bin/bash", "-c", source],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise BuildError(f"--command ends with {done.returncode}", f"Try it: {source}")
    return done.stdout


@attrs.frozen
class Outlets:
    """Where alerts go."""

    file: Path | None = None
    webhook: Webhook | None = None

    def send(self, alert: Alert) -> None:
        """Send an alert to all; the file takes one only once, so that this can be tried again.

        Raises:
            OSError, DataError: it did not arrive.
        """
        text = watching.alert_to_json(alert)
        if self.file is not None and not self._is_in_file(alert.id):
            with self.file.open("a", encoding="utf-8") as stream:
                stream.write(f"{text}\n")
        if self.webhook is not None:
            self.webhook.send(alert.id, text)

    def _is_in_file(self, number: str) -> bool:
        assert self.file is not None, "asked where there is one"
        try:
            return f'"id": "{number}"' in self.file.read_text(encoding="utf-8", errors="replace")
        except FileNotFoundError:
            return False


@attrs.define
class StoreStation:
    """Measures builds as `compare` does, and keeps them in the store; a `Station`."""

    make: Callable[[str], Build]
    lab: StoreLab
    min_effect: Effect

    def measure(self, name: str) -> tuple[LastBuild, Side]:
        """See `Station`."""
        build = self.make(name)
        side = self.lab.measure([build])[build.name]
        run = re.match(r"run (\d+), ", side.title)
        if run is None:
            raise DataError(
                f"{name} was measured, but could not be stored",
                "The next build is compared with what is stored. Mend the database first.",
            )
        return LastBuild(name, build.name, build.python or "", int(run[1])), side

    def stored(self, last: LastBuild) -> Side | None:
        """See `Station`."""
        if self.lab.store.find(str(last.run_id)) is None:
            console.note(f"Run {last.run_id} of {last.name} is gone: nothing to compare with.")
            return None
        run = self.lab.store.load(last.run_id)
        if last.name not in run.builds:
            console.note(f"Run {last.run_id} has no {last.name}: nothing to compare with.")
            return None
        return side_of(run, last.name, f"run {last.run_id}, {last.name}")

    def compare(self, base: Side, new: Side) -> Comparison:
        """See `Station`."""
        return compare(base, new, read_noises(), self.min_effect)

    def verify(self, base: LastBuild, new: LastBuild, keys: Sequence[CaseKey]) -> Comparison:
        """See `Station`."""
        console.note(f"Measuring {len(keys)} suspects once more")
        labels = tuple(dict.fromkeys(key.path for key in keys))
        lab = attrs.evolve(
            self.lab,
            selection=attrs.evolve(self.lab.selection, only=labels),
            measuring=attrs.evolve(self.lab.measuring, times=False),
        )
        # A command may call each build the same, say ``nightly``.
        before = base.name if base.name != new.name else f"{base.name} before"
        sides = lab.measure([Build(before, base.python), Build(new.name, new.python)])
        known = self.stored(base)
        if known is not None and _torch_of(known) != _torch_of(sides[before]):
            raise BuildError(f"{base.python} is not {base.line} any more", "Keep it for a while.")
        return lab.check(self.compare(sides[before], sides[new.name]))


def _torch_of(side: Side) -> tuple[str, str]:
    return side.fingerprint.torch, side.fingerprint.torch_git


def _given_build(line: str) -> Build:
    if "=" not in line:
        raise UsageError(
            f'--command prints "{line}", which is not NAME=PYTHON',
            "With commits, say how to make their builds: --build-cmd.",
        )
    return parse_build(line)


def _described(one: Difference) -> tuple[str, tuple[str, ...]]:
    return title_of(one.key), causes(one)


def _state_file(watched: str, first_name: str) -> Path:
    """The file for what is watched; one that an earlier version wrote of it is taken over."""
    folder = user_data_path("instruction-counts")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be made: {error.strerror}", "Name --state.") from error
    path, before = (
        folder / f"watch-{hashlib.sha256(one.encode()).hexdigest()[:12]}.json"
        for one in (watched, first_name)
    )
    if not path.exists():
        with contextlib.suppress(FileNotFoundError):
            before.rename(path)
    return path
