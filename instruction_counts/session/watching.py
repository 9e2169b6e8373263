"""Watching builds as they come: what is new is measured, compared and reported once."""

from __future__ import annotations

import functools
import json
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison, causes_of, compare
from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.analysis.verdicts.sides import Side, side_of
from instruction_counts.builds.configured import parse_build
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.build import Build
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.errors import BuildError, DataError, UsageError
from instruction_counts.domain.selection import Selection
from instruction_counts.execution.events import Observer
from instruction_counts.history import watching
from instruction_counts.history.watching import FoundStep, SeenBuild, State, WatchedBuilds
from instruction_counts.session.build_measurer import StoreBuildMeasurer
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.session.made_builds import made_build
from instruction_counts.session.watch_state import held, read_state, state_file_of, write_state
from instruction_counts.sources.definitions import Definitions
from instruction_counts.storage.store import Store
from instruction_counts.system.program import program_name


def place_of(store: Store) -> str:
    """Which database it is, wherever the program is started: runs are known by their numbers."""
    return store.name if "://" in store.name else str(Path(store.name).resolve())


class Reporting(Protocol):
    """Where steps are reported."""

    def causes(self, difference: Difference) -> tuple[str, ...]:
        """The causes of a change, as texts."""

    def report(self, step: FoundStep) -> None:
        """Report a step; one that was reported already, too, if the program ended meanwhile.

        Raises:
            OSError, DataError: it could not be reported.
        """


@attrs.frozen
class WatchRequest:
    """Which builds are watched, by which cases, and how these are measured."""

    list_command: str
    """A shell command that prints the builds, one per line, the oldest first."""
    build_command: str | None
    """A shell command that makes the build of a commit; None where the builds exist."""
    definitions: Definitions
    selection: Selection
    settings: MeasurementSettings
    min_effect: Effect
    layouts: int | None
    """As in `ComparisonRequest`; 0 only measures once more."""
    state_file: Path | None = None
    """The file that remembers what was seen; None takes one in the user's data folder."""

    def name(self, store: Store) -> str:
        """What identifies the watch."""
        asked = [
            *(self.list_command, self.build_command, str(self.definitions)),
            attrs.asdict(self.selection),
        ]
        return json.dumps([*asked, place_of(store)])

    def maker(self, state: State, observer: Observer) -> Callable[[str], Build]:
        """What makes a build of a line that the list command prints."""
        if self.build_command is None:
            return _given_build
        made = {} if not state.bases else {state.bases[-1].build.python: state.bases[-1].build.name}
        return functools.partial(made_build, self.build_command, made=made, notice=observer.note)


def watch(
    request: WatchRequest,
    store: Store,
    reporting: Reporting,
    observer: Observer,
    every_s: float | None = None,
) -> int:
    """Look at the builds that are new, and return how many steps were found.

    With ``every_s`` it looks again after each pause of so many seconds, and never returns; builds
    that cannot be listed then are an error that the observer gets.

    Raises:
        UsageError: the state is that of another watch, or another process holds it.
        BuildError: the builds cannot be listed.
    """
    name = request.name(store)
    path = request.state_file or state_file_of(name)
    with held(path):
        state = read_state(path, name)
        measurer = StoreBuildMeasurer(
            *(request.definitions, request.selection, request.settings),
            *(store, request.layouts, observer),
        )
        builds = StoreWatchedBuilds(
            request.maker(state, observer), measurer, request.min_effect, observer
        )
        save = functools.partial(write_state, path)
        while True:
            try:
                listing = listed(request.list_command)
                state, found = look(state, listing, builds, reporting, save, observer.note)
            except BuildError as error:
                if every_s is None:
                    raise
                observer.error(error.text(program_name()))
            if every_s is None:
                return found
            time.sleep(every_s)


def _given_build(line: str) -> Build:
    if "=" not in line:
        raise UsageError(
            f'--command prints "{line}", which is not NAME=PYTHON',
            "With commits, say how to make their builds: --build-cmd.",
        )
    return parse_build(line)


def look(
    state: State,
    lines: str,
    builds: WatchedBuilds,
    reporting: Reporting,
    save: Callable[[State], None],
    notice: Callable[[str], None],
) -> tuple[State, int]:
    """Look at the builds in ``lines`` that are new; the state then, and how many steps were found.

    The state is saved before steps are reported, and after each: none is lost. One that could not
    be reported, or was being reported when the program ended, is reported at the next look.
    """
    found = 0
    state = _reported(state, reporting, save, notice)
    for name in watching.new_names(lines, state.seen):
        before = len(state.unreported)
        state = watching.look_at(state, name, builds, reporting.causes, notice)
        found += len(state.unreported) - before
        save(state)
        state = _reported(state, reporting, save, notice)
    return state, found


def _reported(
    state: State,
    reporting: Reporting,
    save: Callable[[State], None],
    notice: Callable[[str], None],
) -> State:
    for step in state.unreported:
        try:
            reporting.report(step)
        except (OSError, DataError) as error:
            notice(f"A step could not be reported and will be retried: {error}")
            continue
        left = tuple(other for other in state.unreported if other is not step)
        state = attrs.evolve(state, unreported=left)
        save(state)
    return state


def listed(source: str) -> str:
    """What the command prints that lists the builds.

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
class StoreWatchedBuilds:
    """Measures builds as `compare` does, and keeps them in the store; a `WatchedBuilds`."""

    make: Callable[[str], Build]
    measurer: StoreBuildMeasurer
    min_effect: Effect
    observer: Observer

    def measure(self, name: str) -> tuple[SeenBuild, Side]:
        """See `WatchedBuilds`."""
        build = self.make(name)
        measured = self.measurer.measured([build])
        if measured.run_id is None or not measured.is_sound:
            raise DataError(
                f"{name} was measured, but could not be stored, or its files changed meanwhile",
                "The next build is compared with what is stored. Remove the cause first.",
            )
        last = SeenBuild(name, build.name, build.python or "", measured.run_id)
        return last, measured.sides[build.name]

    def stored(self, last: SeenBuild) -> Side | None:
        """See `WatchedBuilds`."""
        store, number = self.measurer.store, last.run_id
        run = store.load(number, details=False) if store.find(str(number)) is not None else None
        if run is None or last.name not in run.builds:
            self.observer.note(f"Run {number} has no {last.name}: nothing to compare with.")
            return None
        return side_of(run, last.name, f"run {last.run_id}, {last.name}", last.run_id)

    def compare(self, base: Side, new: Side) -> Comparison:
        """See `WatchedBuilds`."""
        complete = self.measurer.store.completed
        causes = functools.partial(causes_of, complete=complete)
        return compare(base, new, self.min_effect, causes)

    def verify(self, base: SeenBuild, new: SeenBuild, keys: Sequence[CaseKey]) -> Comparison:
        """See `WatchedBuilds`."""
        self.observer.note(f"Measuring candidates once more: {len(keys)}")
        labels = tuple(dict.fromkeys(key.path for key in keys))
        measurer = attrs.evolve(
            self.measurer,
            selection=attrs.evolve(self.measurer.selection, only=labels),
            measuring=attrs.evolve(self.measurer.measuring, times=False),
        )
        # A command may call each build the same, say ``nightly``.
        before = base.name if base.name != new.name else f"{base.name} before"
        sides = measurer.measure([Build(before, base.python), Build(new.name, new.python)])
        known = self.stored(base)
        if known is not None and _torch_of(known) != _torch_of(sides[before]):
            raise BuildError(f"{base.python} is not {base.line} any more", "Keep it for a while.")
        return measurer.check(self.compare(sides[before], sides[new.name]))


def _torch_of(side: Side) -> tuple[str, str]:
    return side.fingerprint.torch, side.fingerprint.torch_git
