"""The steps of a run: the orders, the engine, and the run that grows with each outcome."""

from __future__ import annotations

import contextlib
import datetime as dt
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import attrs

from instruction_counts import __version__
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.expected import as_expected
from instruction_counts.domain.fingerprint import KNOWN_LATER, Fingerprint, known_at_first
from instruction_counts.domain.outcomes import Machine, Status
from instruction_counts.domain.records import (
    ChangedFiles,
    Complete,
    Identity,
    Record,
    Run,
    as_it_is,
)
from instruction_counts.domain.work import WorkOrder
from instruction_counts.execution.events import Event, Finished, Observer
from instruction_counts.execution.lanes import Lanes
from instruction_counts.execution.order import Budget, longest_first, note_durations, read_durations
from instruction_counts.execution.scheduler import execute, refused
from instruction_counts.session.recording import Recorder, Recording

DURATIONS = "durations.json"
"""Where, in the cache folder, it is noted how long cases take."""


class Exporter(Protocol):
    """Writes a growing run to a file."""

    def update(self, run: Run, *, final: bool = False, complete: Complete = as_it_is) -> None:
        """Write ``run``; sometimes, unless it is ``final``. ``complete`` gives the details.

        Raises:
            UsageError: it cannot be written.
        """


def _now() -> dt.datetime:
    return dt.datetime.now(dt.UTC)


def remaining(orders: Iterable[WorkOrder], done: Run | None) -> list[WorkOrder]:
    """What ``done`` does not hold of ``orders``."""
    known = {record.identity: record for record in done.cases} if done is not None else {}
    return [order for order in orders if not _holds(known, order)]


class Measured:
    """A run that grows: every outcome is recorded, shown and saved as it comes."""

    def __init__(
        self,
        engine: str,
        lanes: Lanes,
        exporters: Collection[Exporter],
        observer: Observer,
        durations: Path | None = None,
        recorder: Recorder | None = None,
        now: Callable[[], dt.datetime] = _now,
        machine: Machine | None = None,
        budget: Budget | None = None,
        package_folders: Mapping[str, str] | None = None,
    ) -> None:
        self._budget, self._observer = budget, observer
        self._changed_files: dict[str, ChangedFiles] = {}
        self._folders = dict(package_folders or {})
        self._engine, self._exporters, self._lanes = engine, tuple(exporters), lanes
        self._machine = machine
        self._durations, self._recorder = durations, recorder
        self._recording: Recording | None = None
        self._complete = recorder.completed if recorder is not None else as_it_is
        self._started_at = now().isoformat(timespec="seconds")
        self._records: list[Record] = []
        self._before: Run | None = None
        self.unsaved: set[Exporter] = set()
        """Those that could not write the last state of the run."""

    @property
    def run_id(self) -> int | None:
        """The number that the recorder gave; None where there is none."""
        return None if self._recording is None else self._recording.run_id

    @property
    def is_stored(self) -> bool:
        """Whether the recorder has the whole run, to its end; true where there is none."""
        return self._recorder is None or (
            self._recording is not None and self._recording.is_complete
        )

    @property
    def run(self) -> Run:
        """The run, as far as it is."""
        builds = dict(self._lanes.fingerprints)
        machine = self._machine
        if self._before is not None:
            builds = {**self._before.builds, **builds}
            builds = {name: _completed(build, self._before, name) for name, build in builds.items()}
            machine = machine or self._before.machine
        records, changed = tuple(self._records), self._changed_files
        start = __version__, self._engine, builds, records, self._started_at, machine
        return Run(*start, changed, self._folders)

    def execute(self, orders: Sequence[WorkOrder], done: Run | None) -> bool:
        """Measure ``orders``, but for those that ``done`` holds; True if interrupted.

        What ``done`` holds beyond the orders is kept too, however it ended and on whatever build,
        so that its file loses nothing.

        Raises:
            DataError: ``done`` was measured by another engine, or on another build.
        """
        waiting = remaining(orders, done)
        known = {record.identity: record for record in done.cases} if done is not None else {}
        asked = {(order.build.name, order.case.key) for order in waiting}
        self._records = [record for identity, record in known.items() if identity not in asked]
        if done is not None:
            self._go_on_from(done)
        if self._durations is not None:
            waiting = longest_first(waiting, read_durations(self._durations))
        if self._recorder is not None:
            number = self._recorder.begin(self.run)
            self._recording = Recording(number, self._recorder, self._observer)
        interrupted = True
        try:
            self._measure(waiting)
            interrupted = False
        except KeyboardInterrupt:
            pass
        finally:
            self._changed_files |= self._lanes.changed_files()
            self._restore_order(orders)
            if self._recording is not None:
                self._recording.finish(self.run, interrupted=interrupted)
            self._save(final=True)
            self._note_durations()
        return interrupted

    def _go_on_from(self, done: Run) -> None:
        for name, fingerprint in self._lanes.fingerprints.items():
            before = done.builds.get(name)
            same = before and known_at_first(before) == known_at_first(fingerprint)
            if done.engine != self._engine or not same:
                raise DataError(
                    f'--resume: the file was measured by another engine or build than "{name}" is',
                    "Measure anew without --resume, or name the same build, and the engine that "
                    f"counted: --engine {done.engine}",
                )
        self._before = done
        self._changed_files = dict(done.changed_files)
        self._folders = {**done.package_folders, **self._folders}

    def _measure(self, orders: Sequence[WorkOrder]) -> None:
        possible = []
        for order in orders:
            outcome = refused(order, self._lanes)
            if outcome is None:
                possible.append(order)
            else:
                self._add(Finished(order, outcome))
        with (
            contextlib.closing(execute(possible, self._lanes, budget=self._budget)) as events,
            self._observer.progress(len(possible)) as progress,
        ):
            for event in events:
                checked = _checked(event)
                if isinstance(checked, Finished):
                    self._add(checked)
                    if checked.outcome.skipped_by_budget:
                        continue
                progress.show(checked)

    def _add(self, event: Finished) -> None:
        record = Record.of(event.order.case, event.order.build.name, event.outcome)
        self._records.append(record)
        if self._recording is not None:
            stored = self._recording.add(record)
            record = stored.get(record.identity, record)
            self._lighten(stored)
        self._save(final=False)

    def _lighten(self, stored: Mapping[Identity, Record]) -> None:
        # What is stored need not stay in memory: a run may have any number of cases. Nearly always
        # it is the last one.
        left = len(stored)
        for place in reversed(range(len(self._records))):
            if not left:
                return
            light = stored.get(self._records[place].identity)
            if light is not None:
                self._records[place] = light
                left -= 1

    def _note_durations(self) -> None:
        if self._durations is not None:
            known = {
                record.definition_hash: record.outcome.duration_s
                for record in self._records
                if record.outcome.status is not Status.SKIPPED
            }
            note_durations(self._durations, known)

    def _restore_order(self, orders: Sequence[WorkOrder]) -> None:
        # Lanes finish in any order; files and tables follow the definitions. What was skipped
        # comes last, the least likely to have changed first.
        places = {(order.build.name, order.case.key): place for place, order in enumerate(orders)}
        skipped_by_budget = [record for record in self._records if record.outcome.skipped_by_budget]
        self._records = [record for record in self._records if not record.outcome.skipped_by_budget]
        self._records.sort(key=lambda record: places.get(record.identity, len(places)))
        self._records += reversed(skipped_by_budget)

    def _save(self, *, final: bool) -> None:
        # A file that could not be written is reported once, and tried again only at the end:
        # measuring goes on, and what is measured is stored.
        for exporter in self._exporters:
            was_reported = exporter in self.unsaved
            if was_reported and not final:
                continue
            try:
                exporter.update(self.run, final=final, complete=self._complete)
                self.unsaved.discard(exporter)
            except UsageError as error:
                self.unsaved.add(exporter)
                if not was_reported:
                    self._observer.error(f"The file with the results is not up to date: {error}")


def _completed(now: Fingerprint, before: Run, build: str) -> Fingerprint:
    """The fingerprint with what was known of earlier counts, where no server started since."""
    if now.counted_capability or build not in before.builds:
        return now
    then = before.builds[build]
    return attrs.evolve(now, **{name: getattr(then, name) for name in KNOWN_LATER})


def _checked(event: Event) -> Event:
    """The event; a case that computed something else than was expected failed."""
    if not isinstance(event, Finished):
        return event
    return attrs.evolve(event, outcome=as_expected(event.order.case, event.outcome))


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
    )
