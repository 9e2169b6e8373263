"""Watching builds as they come: what is new is measured, compared and reported once.

How far a watch got is in a file between its runs. Format history: 1, the first.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.analysis.verdicts.sides import Side, side_of
from instruction_counts.builds.configured import parse_build
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, DataError, UsageError
from instruction_counts.execution.events import Observer
from instruction_counts.history import watching
from instruction_counts.history.watching import FoundStep, SeenBuild, State, WatchedBuilds
from instruction_counts.reading.structure import read_as, require_version, strict_converter
from instruction_counts.session.build_series import StoreBuildMeasurer, made_build, output_of
from instruction_counts.session.comparing import ComparisonRequest, judged
from instruction_counts.storage.store import Store
from instruction_counts.system.files import locked, write_atomically
from instruction_counts.system.folders import make_data_folder
from instruction_counts.system.program import program_name

_VERSION = 1


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
    compared: ComparisonRequest
    """How each is compared with the one before."""
    state_file: Path | None = None
    """The file that remembers what was seen; None takes one in the user's data folder."""

    def name(self, store: Store) -> str:
        """What identifies the watch, wherever the program is started."""
        cases = str(self.compared.definitions), attrs.asdict(self.compared.selection)
        # Runs are known by their numbers, so the database is part of it.
        place = store.name if "://" in store.name else str(Path(store.name).resolve())
        return json.dumps([self.list_command, self.build_command, *cases, place])

    def maker(self, state: State, observer: Observer) -> Callable[[str], Build]:
        """What makes a build of a line that the list command prints."""
        if self.build_command is None:
            return _given_build
        made = {base.build.python: base.build.name for base in state.bases[-1:]}
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
        builds = StoreWatchedBuilds(
            request.maker(state, observer), StoreBuildMeasurer(request.compared, store, observer)
        )
        save = functools.partial(write_state, path)
        looking = Looking(state, builds, reporting, save, observer.note)
        while True:
            seen = looking.state.seen
            try:
                found = looking.look(listed(request.list_command))
            except BuildError as error:
                if every_s is None:
                    raise
                observer.error(error.text(program_name()))
            if every_s is None:
                if looking.state.seen == seen:
                    observer.note("There is no new build.")
                return found
            time.sleep(every_s)


def _given_build(line: str) -> Build:
    if "=" not in line:
        raise UsageError(
            f'--command prints "{line}", which is not NAME=PYTHON',
            "With commits, say how to make their builds: --build-cmd.",
        )
    return parse_build(line)


@attrs.define
class Looking:
    """A watch from one look to the next.

    The state is saved before steps are reported, and after each: none is lost. One that could not
    be reported, or was being reported when the program ended, is reported at the next look.
    """

    state: State
    builds: WatchedBuilds
    reporting: Reporting
    save: Callable[[State], None]
    notice: Callable[[str], None]

    def look(self, lines: str) -> int:
        """Look at the builds in ``lines`` that are new, and return how many steps were found."""
        found = 0
        self._report()
        names = list(watching.new_names(lines, self.state.seen))
        for name in names:
            before = len(self.state.unreported)
            causes = self.reporting.causes
            self.state = watching.look_at(self.state, name, self.builds, causes, self.notice)
            found += len(self.state.unreported) - before
            self.save(self.state)
            self._report()
        if names:
            self.notice(f"New builds: {len(names)}. New steps: {found}.")
        return found

    def _report(self) -> None:
        for step in self.state.unreported:
            try:
                self.reporting.report(step)
            except (OSError, DataError) as error:
                self.notice(f"A step could not be reported and will be retried: {error}")
                continue
            left = tuple(other for other in self.state.unreported if other is not step)
            self.state = attrs.evolve(self.state, unreported=left)
            self.save(self.state)


def listed(source: str) -> str:
    """What the command prints that lists the builds.

    Raises:
        BuildError: it fails.
    """
    status, output = output_of(source)
    if status:
        raise BuildError(f"--command ends with {status}", f"Try it: {source}")
    return output


@attrs.define
class StoreWatchedBuilds:
    """Measures builds as `compare` does, and keeps them in the store; a `WatchedBuilds`."""

    make: Callable[[str], Build]
    measurer: StoreBuildMeasurer

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
            self.measurer.observer.note(
                f"Run {number} has no {last.name}: nothing to compare with."
            )
            return None
        return side_of(run, last.name, f"run {last.run_id}, {last.name}", last.run_id)

    def compare(self, base: Side, new: Side) -> Comparison:
        """See `WatchedBuilds`."""
        least = self.measurer.request.min_effect
        return judged(base, new, least, self.measurer.store.completed)

    def verify(self, base: SeenBuild, new: SeenBuild, keys: Sequence[CaseKey]) -> Comparison:
        """See `WatchedBuilds`."""
        self.measurer.observer.note(f"Measuring candidates once more: {len(keys)}")
        request = self.measurer.request
        labels = tuple(dict.fromkeys(key.path for key in keys))
        again = attrs.evolve(
            request,
            selection=attrs.evolve(request.selection, only=labels),
            settings=attrs.evolve(request.settings, times=False),
        )
        measurer = attrs.evolve(self.measurer, request=again)
        # A command may call each build the same, say ``nightly``.
        before = base.name if base.name != new.name else f"{base.name} before"
        sides = measurer.measure([Build(before, base.python), Build(new.name, new.python)])
        known = self.stored(base)
        if known is not None and _torch_of(known) != _torch_of(sides[before]):
            raise BuildError(f"{base.python} is not {base.line} any more", "Keep it for a while.")
        return measurer.check(self.compare(sides[before], sides[new.name]))


def _torch_of(side: Side) -> tuple[str, str]:
    return side.fingerprint.torch, side.fingerprint.torch_git


# How far a watch got


@attrs.frozen
class _File:
    version: int
    state: State


_CONVERTER = strict_converter()
require_version(_CONVERTER, _File, "version", _VERSION)


def state_file_of(watched: str) -> Path:
    """The file for what is watched, in the user's data folder, which is made."""
    digest = hashlib.sha256(watched.encode()).hexdigest()[:12]
    return make_data_folder("--state") / f"watch-{digest}.json"


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Keep others from the state in a file meanwhile; a process that dies lets go of it.

    Raises:
        UsageError: another watch has it.
        DataError: nothing can be written there.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(path, patience_s=0))
        except TimeoutError as error:
            raise UsageError(
                f"another watch is using {path}",
                "Wait until it ends, or choose another file with --state.",
            ) from error
        except OSError as error:
            raise _not_writable(path, error) from error
        yield


def read_state(path: Path, watched: str) -> State:
    """The state in a file; a fresh one where there is none.

    Raises:
        DataError: the file holds something else, or another watch's state.
    """
    remedy = "Choose another file with --state, or delete it to start over."
    if not path.exists():
        return State(watched)
    state = read_as(path, _File, _CONVERTER, remedy, as_json=True).state
    if state.watched != watched:
        raise DataError(f"{path} belongs to another watch: {state.watched}", remedy)
    return state


def write_state(path: Path, state: State) -> None:
    """Replace the state in a file.

    Raises:
        DataError: it cannot be written.
    """
    document = _CONVERTER.unstructure(_File(_VERSION, state))
    try:
        write_atomically(path, json.dumps(document, indent=1) + "\n")
    except OSError as error:
        raise _not_writable(path, error) from error


def _not_writable(path: Path, error: OSError) -> DataError:
    return DataError(
        f"{path} cannot be written: {error.strerror}", "Choose another file with --state."
    )
