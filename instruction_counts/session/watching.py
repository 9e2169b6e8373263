"""Watching builds as they come: what is new is measured, compared and reported once."""

from __future__ import annotations

import functools
import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import attrs

from core.types import CaseKey
from instruction_counts.analysis.verdicts.comparison import Comparison, compare, function_causes
from instruction_counts.analysis.verdicts.sides import Side, side_of
from instruction_counts.domain.build import Build
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.errors import BuildError, DataError
from instruction_counts.history import watching
from instruction_counts.history.watch_state import Alert, LastBuild, State
from instruction_counts.history.watching import Station
from instruction_counts.history.webhook import Webhook
from instruction_counts.session.lab import StoreLab
from instruction_counts.session.observer import Observer
from instruction_counts.storage.noise import read_noises
from instruction_counts.storage.store import Store


def place_of(store: Store) -> str:
    """Which database it is, wherever the program is started: runs are known by their numbers."""
    return store.name if "://" in store.name else str(Path(store.name).resolve())


@attrs.frozen
class AlertOutlets:
    """Where alerts go, and what they say."""

    describe: watching.Describe
    """The title of a case, and the causes of its change."""
    show: Callable[[Alert], None]
    """Shows an alert to whoever looks at the screen."""
    observer: Observer
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
            lines = self.file.read_text(encoding="utf-8", errors="replace").splitlines()
        except FileNotFoundError:
            return False
        return any(_id_of(line) == number for line in lines)


def _id_of(line: str) -> str | None:
    """The id of an alert in a file, where others may write, too."""
    try:
        alert = json.loads(line)
    except ValueError:
        return None
    return alert.get("id") if isinstance(alert, dict) else None


def look(
    state: State,
    lines: str,
    station: Station,
    outlets: AlertOutlets,
    save: Callable[[State], None],
) -> State:
    """Look at the builds in ``lines`` that are new, and save the state after each."""
    send, notice = outlets.send, outlets.observer.note
    state = watching.deliver(state, send, save, notice)
    for name in watching.new_names(lines, state.seen):
        before = len(state.alerts)
        state = watching.look_at(state, name, station, outlets.describe, notice)
        save(state)
        for one in state.alerts[before:]:
            outlets.show(one)
        state = watching.deliver(state, send, save, notice)
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


@attrs.define
class StoreStation:
    """Measures builds as `compare` does, and keeps them in the store; a `Station`."""

    make: Callable[[str], Build]
    lab: StoreLab
    min_effect: Effect
    observer: Observer

    def measure(self, name: str) -> tuple[LastBuild, Side]:
        """See `Station`."""
        build = self.make(name)
        measured = self.lab.measured([build])
        if measured.run_id is None:
            raise DataError(
                f"{name} was measured, but could not be stored",
                "The next build is compared with what is stored. Repair the database first.",
            )
        last = LastBuild(name, build.name, build.python or "", measured.run_id)
        return last, measured.sides[build.name]

    def stored(self, last: LastBuild) -> Side | None:
        """See `Station`."""
        if self.lab.store.find(str(last.run_id)) is None:
            self.observer.note(
                f"Run {last.run_id} of {last.name} is gone: nothing to compare with."
            )
            return None
        run = self.lab.store.load(last.run_id, details=False)
        if last.name not in run.builds:
            self.observer.note(f"Run {last.run_id} has no {last.name}: nothing to compare with.")
            return None
        return side_of(run, last.name, f"run {last.run_id}, {last.name}")

    def compare(self, base: Side, new: Side) -> Comparison:
        """See `Station`."""
        complete = self.lab.store.completed
        causes = functools.partial(function_causes, complete=complete)
        return compare(base, new, read_noises(), self.min_effect, causes)

    def verify(self, base: LastBuild, new: LastBuild, keys: Sequence[CaseKey]) -> Comparison:
        """See `Station`."""
        self.observer.note(f"Measuring {len(keys)} suspects once more")
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
