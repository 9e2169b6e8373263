"""A run that grows: every outcome is recorded, shown and saved as it comes.

What cannot be stored now waits in memory, and is tried again.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import shlex
import time
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

import attrs

from instruction_counts import __version__
from instruction_counts.analysis.verdicts.sides import Side, side_of
from instruction_counts.domain.build import completed, known_at_first
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.outcomes import Machine, Status
from instruction_counts.domain.records import ChangedFiles, Identity, Record, Run
from instruction_counts.domain.shards import MeasuredShard
from instruction_counts.domain.work import WorkOrder
from instruction_counts.execution.events import Finished, Observer, Started
from instruction_counts.execution.lanes import Lanes
from instruction_counts.execution.scheduler import (
    execute,
    longest_first,
    note_durations,
    read_durations,
    refused,
)
from instruction_counts.storage.json_files import keep
from instruction_counts.system.program import program_name

if TYPE_CHECKING:  # it takes a fifth of the start of a command, and some store nothing
    from instruction_counts.storage.store import Store

_PAUSE = 20
"""How often as long as it took to learn that nothing can be stored, nothing is tried again."""


class Exporter(Protocol):
    """Writes a growing run to a file."""

    def update(self, run: Run, *, final: bool = False) -> None:
        """Write ``run``; sometimes, unless it is ``final``.

        Raises:
            UsageError: it cannot be written.
        """


def carried_out(
    orders: Iterable[WorkOrder],
    lanes: Lanes,
    observer: Observer,
    budget_s: float | None = None,
    at_once: int | None = None,
) -> Generator[Finished]:
    """What becomes of ``orders``; each is shown once the caller has dealt with it.

    What the lanes refuse or a budget skips is not shown.
    """
    possible = []
    for order in orders:
        outcome = refused(order, lanes)
        if outcome is None:
            possible.append(order)
        else:
            yield Finished(order, outcome)
    with (
        contextlib.closing(execute(possible, lanes, budget_s=budget_s, at_once=at_once)) as events,
        observer.progress(len(possible)) as progress,
    ):
        for event in events:
            if isinstance(event, Started):
                progress.show(event)
                continue
            finished = Finished(event.order, event.outcome.as_expected(event.order.case.expected))
            yield finished
            if not finished.outcome.skipped_by_budget:
                progress.show(finished)


def remaining(orders: Iterable[WorkOrder], done: Run | None) -> list[WorkOrder]:
    """What ``done`` does not hold of ``orders``."""
    known = {record.identity: record for record in done.cases} if done is not None else {}
    return [order for order in orders if not _holds(known, order)]


@attrs.frozen
class MeasuredRun:
    """A run that was measured, and what became of it."""

    run: Run
    orders: tuple[WorkOrder, ...]
    run_id: int | None = None
    """The number under which it is stored, as far as it is; None where nothing stores it."""
    unsaved: frozenset[Exporter] = frozenset()
    """The exporters that could not write the end of the run."""

    @property
    def interrupted(self) -> bool:
        """Whether some of it was not measured."""
        return not self.run.is_finished

    @property
    def sides(self) -> dict[str, Side]:
        """What was measured of each build, by its name."""
        title = "" if self.run_id is None else f"run {self.run_id}, "
        return {
            name: side_of(self.run, name, title + name, self.run_id) for name in self.run.builds
        }

    @property
    def ordered(self) -> tuple[Record, ...]:
        """The records of the orders: a resumed run holds whatever else its file held."""
        asked = {(order.build.name, order.case.key) for order in self.orders}
        return tuple(record for record in self.run.cases if record.identity in asked)

    @property
    def has_failed_cases(self) -> bool:
        """Whether a case that was ordered failed or took too long."""
        return any(record.outcome.status.is_failure for record in self.ordered)

    def finished(self) -> Self:
        """The same, unless it was interrupted, which raises `KeyboardInterrupt` once more."""
        if self.interrupted:
            raise KeyboardInterrupt
        return self


@attrs.define
class Recording:
    """A run that is being stored; that it cannot be stored ends no run.

    What the store does not have in the end is kept in a file, which is named.
    """

    run_id: int
    _store: Store
    _observer: Observer
    _clock: Callable[[], float] = time.monotonic
    _keep: Callable[[Run], Path | None] = keep
    """Writes a run to a file, if there is room for one."""
    _waiting: dict[Identity, Record] = attrs.field(factory=dict, init=False)
    """The records that are not stored yet."""
    _next: float = attrs.field(default=0.0, init=False)
    _is_reported: bool = attrs.field(default=False, init=False)
    is_complete: bool = attrs.field(default=False, init=False)
    """Whether the run has been finished, and all of it is stored."""

    def add(self, record: Record) -> Mapping[Identity, Record]:
        """Store a record, with those that could not be stored before.

        Returns what is stored now, as it can stay in memory.
        """
        self._waiting[record.identity] = record
        stored: dict[Identity, Record] = {}
        begin = self._clock()
        if begin < self._next:
            return stored
        for identity, waiting in list(self._waiting.items()):
            try:
                stored[identity] = self._store.add(self.run_id, waiting)
            except UsageError as error:
                # Next time the others come first, should it be that only this one does not fit.
                self._waiting[identity] = self._waiting.pop(identity)
                now = self._clock()
                self._next = now + _PAUSE * (now - begin)
                if not self._is_reported:
                    self._is_reported = True
                    self._observer.error(
                        "Results cannot be stored now; they stay in memory, and it is tried again "
                        f"with each case: {error}"
                    )
                return stored
            del self._waiting[identity]
        return stored

    def finish(self, run: Run, *, interrupted: bool) -> None:
        """Store the end of the run, and whatever is not stored yet."""
        try:
            self._store.finish(self.run_id, run, interrupted=interrupted)
        except UsageError as error:
            file = self._keep(run)
            again = "No file could be written either."
            if file is not None:
                typed = ["runs", "import", *self._store.option, str(file)]
                again = (
                    f"All of its results are in {file}. When the database can be written: "
                    f"{program_name()} {shlex.join(typed)}"
                )
            self._observer.error(
                f"Run {self.run_id} is not stored as a whole: {error.message}\n  {again}"
            )
        else:
            self.is_complete = True


@attrs.define(eq=False)
class Measured:
    """A run that grows."""

    engine: str
    _lanes: Lanes
    _exporters: Collection[Exporter]
    _observer: Observer
    _recorder: Store | None = None
    _durations: Path | None = None
    """Where it is noted how long cases take."""
    _machine: Machine | None = None
    _budget_s: float | None = None
    _folders: Mapping[str, str] = attrs.field(factory=dict)
    """Where the packages of each build are."""
    _shard: MeasuredShard | None = None
    _in_order: bool = True
    _unsaved: set[Exporter] = attrs.field(factory=set, init=False)
    """Those that could not write the last state of the run."""
    _records: dict[Identity, Record] = attrs.field(factory=dict, init=False)
    _changed_files: dict[str, ChangedFiles] = attrs.field(factory=dict, init=False)
    _is_finished: bool = attrs.field(default=False, init=False)
    _recording: Recording | None = attrs.field(default=None, init=False)
    _before: Run | None = attrs.field(default=None, init=False)
    _started_at: str = attrs.field(
        factory=lambda: dt.datetime.now(dt.UTC).isoformat(timespec="seconds"), init=False
    )

    @property
    def run(self) -> Run:
        """The run, as far as it is."""
        builds, machine, folders = dict(self._lanes.fingerprints), self._machine, self._folders
        if self._before is not None:
            before = self._before
            builds, folders = {**before.builds, **builds}, {**before.package_folders, **folders}
            for name, then in before.builds.items():
                builds[name] = completed(builds[name], then)
            machine = machine or before.machine
        records = tuple(self._records.values())
        start = __version__, self.engine, builds, records, self._started_at, machine
        return Run(
            *(*start, self._changed_files, dict(folders), self._shard, self._is_finished),
            in_order=self._in_order,
        )

    def execute(self, orders: Sequence[WorkOrder], done: Run | None = None) -> MeasuredRun:
        """Measure ``orders``, but for those that ``done`` holds.

        What ``done`` holds beyond the orders is kept too, however it ended and on whatever build,
        so that its file loses nothing.

        Raises:
            DataError: ``done`` was measured by another engine, on another build, or is another
                shard.
        """
        waiting = remaining(orders, done)
        if done is not None:
            self._go_on_from(done)
            self._records = {record.identity: record for record in done.cases}
            for order in waiting:
                self._records.pop((order.build.name, order.case.key), None)
        if self._durations is not None:
            known = read_durations(self._durations)
            waiting = longest_first(waiting, known, in_budget=self._budget_s is not None)
        if self._recorder is not None:
            number = self._recorder.begin(self.run)
            self._recording = Recording(number, self._recorder, self._observer)
        try:
            events = carried_out(waiting, self._lanes, self._observer, self._budget_s)
            with contextlib.closing(events):
                for event in events:
                    self._add(event)
            self._is_finished = True
        except KeyboardInterrupt:
            pass
        finally:
            self._changed_files |= self._lanes.changed_files()
            # Lanes finish in any order; files and tables follow the definitions.
            asked = ((order.build.name, order.case.key) for order in orders)
            first = {key: self._records[key] for key in asked if key in self._records}
            self._records = {**first, **self._records}
            if self._recording is not None:
                self._recording.finish(self.run, interrupted=not self._is_finished)
            self._save(final=True)
            if self._durations is not None:
                known = {
                    record.definition_hash: record.outcome.duration_s
                    for record in self._records.values()
                    if record.outcome.status is not Status.SKIPPED
                }
                note_durations(self._durations, known)
        recording = self._recording
        run = attrs.evolve(self.run, is_stored=recording is None or recording.is_complete)
        return MeasuredRun(
            *(run, tuple(orders), recording.run_id if recording else None),
            unsaved=frozenset(self._unsaved),
        )

    def _go_on_from(self, done: Run) -> None:
        if done.shard != self._shard:
            how = "without --shard" if done.shard is None else f"with --shard {done.shard}"
            raise DataError(
                f"--resume: the file was measured {how}, or with other cases than are selected",
                "Measure again without --resume, or repeat the options of that run.",
            )
        for name, fingerprint in self._lanes.fingerprints.items():
            before = done.builds.get(name)
            same = before and known_at_first(before) == known_at_first(fingerprint)
            if done.engine != self.engine or not same:
                raise DataError(
                    f'--resume: the file was measured by another engine or build than "{name}" is',
                    "Measure again without --resume, or name the same build, and the engine that "
                    f"counted: --engine {done.engine}",
                )
        self._before, self._changed_files = done, dict(done.changed_files)

    def _add(self, event: Finished) -> None:
        record = Record.of(event.order.case, event.order.build.name, event.outcome)
        self._records[record.identity] = record
        if self._recording is not None:
            # What is stored need not stay in memory: a run may have any number of cases.
            self._records.update(self._recording.add(record))
        self._save(final=False)

    def _save(self, *, final: bool) -> None:
        # A file that could not be written is reported once, and tried again only at the end:
        # measuring goes on, and what is measured is stored.
        for exporter in self._exporters:
            was_reported = exporter in self._unsaved
            if was_reported and not final:
                continue
            try:
                exporter.update(self.run, final=final)
                self._unsaved.discard(exporter)
            except UsageError as error:
                self._unsaved.add(exporter)
                if not was_reported:
                    self._observer.error(f"The file with the results is not up to date: {error}")


def _holds(records: Mapping[Identity, Record], order: WorkOrder) -> bool:
    """Whether ``records`` hold all that ``order`` asks for, of the same code, and it went well."""
    record = records.get((order.build.name, order.case.key))
    return (
        record is not None
        and record.outcome.status is Status.OK
        and record.definition_hash == order.case.definition_hash
        and (record.outcome.instructions is not None or not order.counts)
        and (record.outcome.times is not None or not order.times)
        and (record.outcome.resources_reason is not None or not order.asks_for_resources)
        and (record.outcome.cycles is not None or not order.asks_for_cycles)
    )
