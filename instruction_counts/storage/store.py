"""The store: every run in a database, one transaction for each outcome.

What was finished is kept, however the program ends. Several processes and threads can use one store
at once: writers take turns, readers see a state that was whole.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

import attrs
from sqlalchemy import delete, insert, select, update

from core.types import CaseKey
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import Details, Machine
from instruction_counts.domain.records import Record, Run
from instruction_counts.domain.stored import RunCheck, RunSummary, StoredCount
from instruction_counts.storage.garbage import no_garbage
from instruction_counts.storage.store_check import check_runs, file_problems
from instruction_counts.storage.store_database import LOCK_TIMEOUT_S, Database
from instruction_counts.storage.store_errors import (
    check_tag,
    no_such_name,
    no_such_run,
    require_run,
    understood,
)
from instruction_counts.storage.store_reading import (
    case_keys,
    changed_files_of,
    find_run,
    read_builds,
    stored_counts,
    summaries,
)
from instruction_counts.storage.store_rows import (
    read_details,
    read_records,
)
from instruction_counts.storage.store_running import RunningRuns
from instruction_counts.storage.store_spool import Spool
from instruction_counts.storage.store_tables import (
    runs,
    tags,
)
from instruction_counts.storage.store_writing import (
    head_values,
    insert_run,
    put_builds,
    put_in_order,
    put_noises,
    put_record,
    sweep,
)

RUNNING, COMPLETE, INTERRUPTED = "running", "complete", "interrupted"
KILLED = "killed"
"""Not stored, as a process cannot say it of itself."""


class Store:
    """The runs of a database; see `Store.open`.

    All methods raise `DataError` where the database cannot be read or written.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._running = RunningRuns(database.path)
        self._spool = Spool() if database.path is None else None
        """What a server stores, which may go away while a run needs it."""

    @classmethod
    def open(
        cls,
        where: str | Path | None = None,
        *,
        must_exist: bool = False,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
    ) -> Self:
        """The store in a file, at a URL of PostgreSQL or SQLite, or the user's own.

        It is made where there is none, unless ``must_exist``, and migrated where it is older.

        Raises:
            UsageError: there is none, or can be none.
            DataError: it cannot be reached or written, is damaged, or is of a newer program.
        """
        return cls(Database.at(where, must_exist=must_exist, lock_timeout_s=lock_timeout_s))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._running.close()
        if self._spool is not None:
            self._spool.close()
        self._database.close()

    @property
    def name(self) -> str:
        """The file, or the URL without its password."""
        return self._database.name

    # A run that goes on

    def begin(self, run: Run) -> int:
        """Store a run that starts, with the cases that it has already; returns its number."""
        with self._database.writing() as connection:
            run_id = insert_run(connection, run, RUNNING)
        self._running.begin(run_id)
        return run_id

    def add(self, run_id: int, record: Record) -> Record:
        """Store an outcome; it replaces the one that this case on this build has in the run.

        Returns the record as it can stay in memory: without its details, which `completed` reads
        again, also where a server has gone away since.
        """
        with self._database.writing() as connection:
            put_record(connection, run_id, record)
        if self._spool is not None:
            try:
                self._spool.put(run_id, record.identity, record.outcome.details)
            except OSError:
                return record  # there is no room for it but in memory
        return record.without_details(run_id)

    def add_noises(self, run_id: int, build: str, noises: Mapping[CaseKey, Noise]) -> None:
        """Store what was seen to move the counts of cases of a stored run."""
        with self._database.writing() as connection:
            put_noises(connection, run_id, build, noises)

    def finish(self, run_id: int, run: Run, *, interrupted: bool) -> None:
        """Store how a run ended, and what is known of it only now.

        These are the final fingerprints and the order of cases. Cases that were not added are.
        """
        with self._database.writing() as connection:
            state = INTERRUPTED if interrupted else COMPLETE
            changed = connection.execute(
                update(runs).where(runs.c.id == run_id).values(head_values(run, state))
            )
            if not changed.rowcount:
                raise no_such_run(run_id)
            put_builds(connection, run_id, run.builds)
            put_in_order(connection, run_id, run)
            sweep(connection)
        self._running.finish(run_id)

    # Whole runs

    def import_run(self, run: Run) -> int:
        """Store a whole run; returns its number.

        Raises:
            DataError: the run holds one case twice.
        """
        if len({record.identity for record in run.cases}) != len(run.cases):
            raise DataError(
                "the run holds one case on one build twice", "Remove one of them from the file."
            )
        with self._database.writing() as connection:
            return insert_run(connection, run, COMPLETE)

    def load(self, run_id: int, *, details: bool = True) -> Run:
        """A stored run, as it was measured; without ``details`` a tenth of it (see `completed`).

        Raises:
            UsageError: there is no such run.
        """
        with (
            self._database.reading() as connection,
            understood(self.name, run_id),
            no_garbage(),
        ):
            head = connection.execute(select(runs).where(runs.c.id == run_id)).one_or_none()
            if head is None:
                raise no_such_run(run_id)
            records = read_records(connection, run_id, details=details)
            if len(records) != head.cases:
                raise ValueError(f"of its {head.cases} cases {len(records)} are found")
            return Run(
                tool_version=head.tool_version,
                engine=head.engine,
                builds=read_builds(connection, run_id),
                cases=records,
                started_at=head.started_at,
                machine=None if head.machine is None else Machine(**head.machine),
                changed_files=changed_files_of(head),
                package_folders=head.package_folders,
            )

    def details(self, run_id: int, build: str, key: CaseKey) -> Details:
        """What is large in the outcome of a case; nothing where it is not stored (any more)."""
        with (
            self._database.reading() as connection,
            understood(self.name, run_id),
            no_garbage(),
        ):
            return read_details(connection, run_id, build, key) or Details()

    def completed(self, record: Record) -> Record:
        """The record with its details, which are read from the run that it is stored in."""
        if record.stored_in is None:
            return record
        if self._spool is not None:
            with suppress(OSError):
                spooled = self._spool.get(record.stored_in, record.identity)
                if spooled is not None:
                    return record.with_details(spooled)
        return record.with_details(self.details(record.stored_in, record.build, record.key))

    def delete(self, run_id: int) -> None:
        """Remove a run, its tags, and what no other run refers to.

        Raises:
            UsageError: there is no such run.
        """
        with self._database.writing() as connection:
            if not connection.execute(delete(runs).where(runs.c.id == run_id)).rowcount:
                raise no_such_run(run_id)
            sweep(connection)
        self._running.finish(run_id)
        with suppress(DataError):  # another process may be busy; then a later time will do
            self._database.give_back_space()

    def summaries(self) -> tuple[RunSummary, ...]:
        """All runs, the newest first."""
        with self._database.reading() as connection:
            found = summaries(connection)
        return tuple(self._with_its_end(run) for run in found)

    def _with_its_end(self, run: RunSummary) -> RunSummary:
        is_killed = run.state == RUNNING and self._running.is_abandoned(run.id)
        return attrs.evolve(run, state=KILLED) if is_killed else run

    def summary(self, run_id: int) -> RunSummary:
        """One run.

        Raises:
            UsageError: there is no such run.
        """
        found = next((run for run in self.summaries() if run.id == run_id), None)
        if found is None:
            raise no_such_run(run_id)
        return found

    def file_problems(self) -> tuple[str, ...]:
        """What SQLite finds wrong in the file; nothing for a server."""
        return tuple(file_problems(self._database))

    def check(self, run_ids: Collection[int]) -> Iterator[RunCheck]:
        """What is wrong with each of these runs: everything in them is read."""
        yield from check_runs(self._database, run_ids)

    # Cases over many runs

    def case_keys(self) -> tuple[CaseKey, ...]:
        """The cases that any run holds, in the order in which they were first stored."""
        with self._database.reading() as connection:
            return tuple(dict.fromkeys(case_keys(connection).values()))

    def counts(
        self, names: Collection[CaseKey], *, last_runs: int | None = None
    ) -> tuple[StoredCount, ...]:
        """What these cases cost on every build of every run, in order of time.

        Runs of unknown time come first; of one run its builds in their order. Costs per function,
        windows, times and outputs are not read. ``last_runs`` are so many runs, the newest.
        """
        with self._database.reading() as connection:
            return tuple(stored_counts(connection, self.name, set(names), last_runs))

    # Names

    def find(self, text: str) -> int | None:
        """The number of the run that ``text`` names by its number or its tag, if there is one."""
        with self._database.reading() as connection:
            return find_run(connection, text)

    def resolve(self, text: str) -> int:
        """The number of the run that ``text`` names.

        Raises:
            UsageError: there is none; with tags that are spelled similarly.
        """
        with self._database.reading() as connection:
            found = find_run(connection, text)
            if found is None:
                raise no_such_name(connection, f'there is no stored run "{text}"', text)
            return found

    def tag(self, run_id: int, name: str, *, force: bool = False) -> None:
        """Give a run a name; with ``force`` one that another run has.

        Raises:
            UsageError: there is no such run, it can be no tag, or another run has it.
        """
        check_tag(name)
        with self._database.writing() as connection:
            require_run(connection, run_id)
            holder = connection.scalar(select(tags.c.run_id).where(tags.c.name == name))
            if holder not in {None, run_id} and not force:
                raise UsageError(f'run {holder} has the tag "{name}"', "Move it with --force.")
            connection.execute(delete(tags).where(tags.c.name == name))
            connection.execute(insert(tags), {"name": name, "run_id": run_id})

    def untag(self, name: str) -> None:
        """Take a name away from its run.

        Raises:
            UsageError: no run has it; with tags that are spelled similarly.
        """
        with self._database.writing() as connection:
            if not connection.execute(delete(tags).where(tags.c.name == name)).rowcount:
                raise no_such_name(connection, f'no run has the tag "{name}"', name)
