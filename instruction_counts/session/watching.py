"""Watching builds as they come: each is compared with the one before, and its steps are reported.

Each case is compared with the last build on which it had a count; where that cannot be, a notice
says so. A suspect is a step only if it still differs when both builds are measured once more, and
as it differs then; unverified only where that cannot be measured. How far a watch got is in a file
between its runs.
"""

import contextlib
import functools
import hashlib
import json
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from instruction_counts.analysis.verdicts.comparison import Comparison
from instruction_counts.analysis.verdicts.difference import Difference, Reason, Verdict
from instruction_counts.analysis.verdicts.sides import Side, side_of
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, DataError, UsageError
from instruction_counts.domain.records import Record
from instruction_counts.execution.events import Observer
from instruction_counts.reading.structure import read_as, require_version, strict_converter
from instruction_counts.session.build_series import StoreBuildMeasurer, listed, maker_of
from instruction_counts.session.comparing import ComparisonRequest
from instruction_counts.storage.store import Store
from instruction_counts.system.files import locked, unwritable, write_output
from instruction_counts.system.folders import make_data_folder
from instruction_counts.system.program import program_name
from instruction_counts.system.shortages import shortage_in

_NAMED = 3
"""So many cases are named in a notice."""

Step: TypeAlias = Mapping[str, Any]
"""One step of one case: plain values for JSON, for those who receive it."""
Describe: TypeAlias = Callable[[Difference, str, str, str], Step]
"""Makes a step of a difference, the builds before and after it, and where it was measured."""


@attrs.frozen
class SeenBuild:
    """A build that later ones are compared with."""

    line: str
    """As it was listed."""
    name: str
    python: str
    run_id: int
    lock: str = ""

    @property
    def build(self) -> Build:
        """What to measure again."""
        return Build(self.name, self.python or None, lock=self.lock)


@attrs.frozen
class Base:
    """The cases whose last count is that of a build."""

    build: SeenBuild
    cases: tuple[CaseKey, ...]


@attrs.frozen
class State:
    """How far a watch got."""

    watched: str
    """What is watched: another command, selection or database needs a file of its own."""
    seen: tuple[str, ...] = ()
    """The builds that were looked at, also broken ones."""
    bases: tuple[Base, ...] = ()
    """What the next build is compared with, the oldest first; each case is in one of them."""
    unreported: tuple[Step, ...] = ()
    """Steps that were found and not reported yet."""


_FILES = (".py", ".yaml", ".yml", ".json")
"""How a file of definitions ends, and no module."""


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
        definitions = self.compared.definitions
        if isinstance(definitions, str) and definitions.endswith(_FILES):
            definitions = str(Path(definitions).resolve())
        cases = str(definitions), attrs.asdict(self.compared.selection)
        # Runs are known by their numbers, so the database is part of it.
        place = store.name if "://" in store.name else str(Path(store.name).resolve())
        return json.dumps([self.list_command, self.build_command, *cases, place])


def watch(
    request: WatchRequest,
    store: Store,
    describe: Describe,
    report: Callable[[Step], None],
    observer: Observer,
    every_s: float | None = None,
    publish: Callable[[], None] = lambda: None,
) -> int:
    """Look at the builds that are new, and return how many steps were found.

    ``report`` may get a step twice, if the program ended meanwhile; if it raises an OSError or a
    DataError, it gets the step again at the next look. With ``every_s`` it looks again after each
    pause of so many seconds, and never returns; builds that cannot be listed then are an error
    that the observer gets. Where something was measured, ``publish`` is called after the first look
    and after each that found a new build; if it raises a UsageError, also after the next one.

    Raises:
        UsageError: the state is that of another watch, or another process holds it.
        BuildError: the builds cannot be listed.
    """
    name = request.name(store)
    path = request.state_file or state_file_of(name)
    with held(path):
        state, command = read_state(path, name), request.build_command
        made = {base.build.python: base.build.name for base in state.bases[-1:]}
        settings = attrs.evolve(request.compared.settings, times=False)
        compared = attrs.evolve(request.compared, settings=settings)
        measurer = StoreBuildMeasurer(compared, store, observer)

        def make(line: str) -> Build:
            return maker_of(line, command, made, observer.note)()

        save = functools.partial(write_state, path)
        looking = Looking(state, save, make, measurer, describe, report)
        published: tuple[str, ...] | None = None
        while True:
            seen = looking.state.seen
            with until_next_look(BuildError, observer, every_s):
                found = looking.look(functools.partial(listed, request.list_command))
            if looking.state.bases and published != looking.state.seen:
                with until_next_look(UsageError, observer, every_s):
                    publish()
                    published = looking.state.seen
            if every_s is None:
                if looking.state.seen == seen:
                    observer.note("There is no new build.")
                return found
            time.sleep(every_s)


@contextlib.contextmanager
def until_next_look(
    kind: type[UsageError], observer: Observer, every_s: float | None
) -> Iterator[None]:
    """Report an error and go on; where there is no next look, it is raised."""
    try:
        yield
    except kind as error:
        if every_s is None:
            raise
        observer.error(error.text(program_name()))


@attrs.define
class Looking:
    """A watch from one look to the next.

    The state is saved before steps are reported, and after each: none is lost. One that could not
    be reported, or was being reported when the program ended, is reported at the next look.
    """

    state: State
    save: Callable[[State], None]
    make: Callable[[str], Build]
    """Makes a build that was listed; raises `BuildError` where that cannot be done."""
    measurer: StoreBuildMeasurer
    describe: Describe
    report: Callable[[Step], None]

    def look(self, lines: Callable[[], Iterable[str]]) -> int:
        """Look at the builds that are new, and return how many steps were found.

        Steps that wait are reported first: ``lines``, which lists the builds, may raise.
        """
        found = 0
        self._report()
        new = [line for line in lines() if line not in self.state.seen]
        for line in new:
            before = len(self.state.unreported)
            self.state = self._after(line)
            found += len(self.state.unreported) - before
            self.save(self.state)
            self._report()
        if new:
            self._note(f"New builds: {len(new)}. New steps: {found}.")
        return found

    def _report(self) -> None:
        for step in self.state.unreported:
            try:
                self.report(step)
            except (OSError, DataError) as error:
                self._note(f"A step could not be reported and will be retried: {error}")
                continue
            left = tuple(other for other in self.state.unreported if other is not step)
            self.state = attrs.evolve(self.state, unreported=left)
            self.save(self.state)

    def _after(self, line: str) -> State:
        """The state after a build that is new, with its steps."""
        state = attrs.evolve(self.state, seen=(*self.state.seen, line))
        try:
            build = self.make(line)
            measured = self.measurer.measured([build])
        except BuildError as error:
            if shortage_in(error.message)[0]:  # of this machine: it is made at the next look
                raise
            self._note(f"{line} is broken and was skipped: {error.message}")
            return state
        if measured.run_id is None or not measured.run.is_sound:
            raise DataError(
                f"{line} was measured, but could not be stored, or its files changed meanwhile",
                "The next build is compared with what is stored. Remove the cause first.",
            )
        side = measured.sides[build.name]
        counted = {key: None for key, record in side.records.items() if record.outcome.instructions}
        if not counted:
            why = _first_failure(side.records.values()) or "no case has a count"
            self._note(f"{line} is broken and was skipped: {why}")
            return state
        new = SeenBuild(line, build.name, build.python or "", measured.run_id, build.lock)
        steps: list[Step] = []
        waiting: list[Base] = []
        for base in state.bases:
            lost = tuple(key for key in base.cases if key not in counted)
            if lost:
                waiting.append(Base(base.build, lost))
            if lost and base is state.bases[-1]:  # later, it was said before
                why = _first_failure(side.records[key] for key in lost if key in side.records)
                why = f": {why}" if why else ""
                self._note(f"{line}: not counted, so not compared: {_titles(lost)}{why}")
            back = [key for key in base.cases if key in counted]
            if back:  # a run can be large: an earlier one is loaded only for cases that are back
                steps += self._steps(base.build, new, side, back)
        bases = (*waiting, Base(new, tuple(counted)))
        return attrs.evolve(state, bases=bases, unreported=(*state.unreported, *steps))

    def _steps(
        self, base: SeenBuild, new: SeenBuild, side: Side, keys: Sequence[CaseKey]
    ) -> list[Step]:
        """The steps of cases from an earlier build to a new one."""
        store, number = self.measurer.store, base.run_id
        run = store.load(number) if store.find(str(number)) is not None else None
        if run is None or base.name not in run.builds:
            self._note(f"Run {number} has no {base.name}: nothing to compare with.")
            return []
        before = side_of(run, base.name, f"run {number}, {base.name}", number)
        found = self.measurer.compare(*(_only(side, keys) for side in (before, side)))
        for why, of in _incomparable(found):
            self._note(f"{new.line}: not comparable with {base.line}, {why}: {_titles(of)}")
        suspects = [difference for difference in found.differences if difference.is_change]
        judged = self._judged_again(base, before, new, suspects) if suspects else {}
        # The direction may be another one: what was seen first may have been an outlier.
        last = (judged.get(suspect.key, suspect) for suspect in suspects)
        return [
            self.describe(difference, base.line, new.line, side.title)
            for difference in last
            if difference.is_change
        ]

    def _judged_again(
        self, base: SeenBuild, before: Side, new: SeenBuild, suspects: Sequence[Difference]
    ) -> dict[CaseKey, Difference]:
        """What is said of suspects that are measured once more, then in other memory layouts.

        What cannot be measured again is not in it.
        """
        self._note(f"Measuring candidates once more: {len(suspects)}")
        request = self.measurer.request
        labels = tuple(dict.fromkeys(suspect.key.path for suspect in suspects))
        selection = attrs.evolve(request.selection, only=labels)
        again = attrs.evolve(request, selection=selection)
        measurer = attrs.evolve(self.measurer, request=again)
        # A command may call each build the same, say ``nightly``.
        name = base.name if base.name != new.name else f"{base.name} before"
        gone = BuildError(f"{base.python or name} is not {base.line} any more", "Keep it longer.")
        try:
            if (base.python, base.lock) == (new.python, new.lock):  # the new one is in its place
                raise gone
            sides = measurer.measure([attrs.evolve(base.build, name=name), new.build])
            if _torch_of(before) != _torch_of(sides[name]):
                raise gone
            found = measurer.check(measurer.compare(sides[name], sides[new.name]))
        except BuildError as error:
            self._note(f"{new.line}: candidates cannot be verified: {error.message}")
            return {}
        known = {Verdict.SAME, Verdict.AMBIGUOUS}
        return {of.key: of for of in found.differences if of.is_change or of.verdict in known}

    def _note(self, text: str) -> None:
        self.measurer.observer.note(text)


def _only(side: Side, keys: Iterable[CaseKey]) -> Side:
    return attrs.evolve(
        side, records={key: side.records[key] for key in keys if key in side.records}
    )


def _incomparable(found: Comparison) -> Iterator[tuple[str, list[CaseKey]]]:
    """What cannot be compared, by the reason."""
    reasons: dict[Reason, list[CaseKey]] = {}
    for difference in found.differences:
        if difference.verdict is Verdict.INCOMPARABLE and not difference.is_change:
            reasons.setdefault(difference.reason, []).append(difference.key)
    facts = "".join(f", {fact.text}" for fact in found.disagreements if fact.prevents)
    for reason, keys in reasons.items():
        yield reason.value + (facts if reason is Reason.FINGERPRINT_DIFFERS else ""), keys


def _first_failure(records: Iterable[Record]) -> str:
    failures = (record.outcome.failure for record in records)
    return next((failure.summary for failure in failures if failure is not None), "")


def _titles(keys: Sequence[CaseKey]) -> str:
    more = f" and {len(keys) - _NAMED} more" if len(keys) > _NAMED else ""
    return "; ".join(key.title for key in keys[:_NAMED]) + more


def _torch_of(side: Side) -> tuple[str, str]:
    return side.fingerprint.torch, side.fingerprint.torch_git


# The file

_VERSION = 1
"""Of that file: 1, the first."""


@attrs.frozen
class _File:
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
        UsageError: another watch has it, or nothing can be written there.
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
            raise unwritable(path, "--state", error) from error
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
        of = "another command, cases or database"
        raise DataError(f"{path} belongs to another watch: it has {of}", remedy)
    return state


def write_state(path: Path, state: State) -> None:
    """Replace the state in a file.

    Raises:
        UsageError: it cannot be written.
    """
    document = {"version": _VERSION, **_CONVERTER.unstructure(_File(state))}
    write_output(path, json.dumps(document, indent=1) + "\n", "--state")
