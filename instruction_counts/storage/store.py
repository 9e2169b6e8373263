"""The store: every run in a database, one transaction for each outcome.

What was finished is kept, however the program ends. Several processes and threads can use one store
at once: writers take turns, readers see a state that was whole.
"""

from __future__ import annotations

import contextlib
import difflib
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Self

import attrs
from filelock import FileLock, Timeout
from sqlalchemy import Connection, delete, func, insert, select

from instruction_counts.core.types import CaseKey
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import Details
from instruction_counts.domain.records import Identity, Record, Run, RunSummary, StoredCount
from instruction_counts.storage import queries
from instruction_counts.storage.database import LOCK_TIMEOUT_S, Database
from instruction_counts.storage.json_files import is_file_name, no_garbage, packed, unpacked
from instruction_counts.storage.queries import no_such_run, understood
from instruction_counts.storage.tables import outcomes, runs, tags

RUNNING, COMPLETE, INTERRUPTED = "running", "complete", "interrupted"
KILLED = "killed"
"""Not stored, as a process cannot say it of itself; never said of runs on a server."""

LAST = "last"
"""Names the newest stored run."""
_MOST_DIGITS = 18
"""A number with more of them may not fit into a column."""


class Store:
    """The runs of a database; see `Store.open`.

    All methods raise `DataError` where the database cannot be read or written.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self.name = database.name
        """The file, or the URL without its password."""
        self._running = RunningRuns(database.path)
        self._spool: dict[tuple[int, Identity], bytes] = {}
        """Details that a server stores: it may go away while a run needs them."""

    @classmethod
    def open(
        cls,
        where: str | Path | None = None,
        *,
        must_exist: bool = False,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
    ) -> Self:
        """The store in a file, at a URL of PostgreSQL, or the user's own.

        It is made where there is none, unless ``must_exist``.

        Raises:
            UsageError: there is none, or can be none.
            DataError: it cannot be reached or written, is damaged, or has another format.
        """
        return cls(Database(where, must_exist=must_exist, lock_timeout_s=lock_timeout_s))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        self._running.close()
        self._spool.clear()
        self._database.close()

    # A run that goes on

    def begin(self, run: Run) -> int:
        """Store a run that starts, with the cases that it has already; returns its number."""
        with self._database.writing() as connection:
            run_id = _insert(connection, run, RUNNING)
            self._running.begin(run_id)  # before anybody can see it
        return run_id

    def add(self, run_id: int, record: Record) -> Record:
        """Store an outcome; it replaces the one that this case on this build has in the run.

        Returns the record as it can stay in memory: without its details, which `completed` reads
        again, also where a server has gone away since.
        """
        with self._database.writing() as connection:
            queries.put_record(connection, run_id, record)
        if self._database.path is None:
            self._spool[run_id, record.identity] = packed(record.outcome.details)
        return record.without_details(run_id)

    def add_noises(self, run_id: int, build: str, noises: Mapping[CaseKey, Noise]) -> None:
        """Store what was seen to move the counts of cases of a stored run."""
        with self._database.writing() as connection, understood(self.name, run_id):
            queries.put_noises(connection, run_id, build, noises)

    def finish(self, run_id: int, run: Run, *, interrupted: bool) -> None:
        """Store how a run ended, and what is known of it only now.

        These are the final fingerprints and the order of cases. Cases that were not added are.
        """
        with self._database.writing() as connection:
            queries.put_run(connection, run, INTERRUPTED if interrupted else COMPLETE, run_id)
            queries.put_in_order(connection, run_id, run)
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
            return _insert(connection, run, COMPLETE)

    def load(self, run_id: int, *, details: bool = True) -> Run:
        """A stored run, as it was measured; without ``details`` a tenth of it (see `completed`).

        Raises:
            UsageError: there is no such run.
        """
        with self._reading(run_id) as connection:
            return queries.read_run(connection, run_id, details=details)

    def details(self, run_id: int, build: str, key: CaseKey) -> Details:
        """What is large in the outcome of a case; nothing where it is not stored (any more)."""
        with self._reading(run_id) as connection:
            return queries.read_details(connection, run_id, build, key)

    def completed(self, record: Record) -> Record:
        """The record with its details, which are read from the run that it is stored in."""
        if record.stored_in is None:
            return record
        spooled = self._spool.get((record.stored_in, record.identity))
        if spooled is not None:
            return record.with_details(unpacked(spooled, Details))
        return record.with_details(self.details(record.stored_in, record.build, record.key))

    def delete(self, run_id: int) -> None:
        """Remove a run with its tags.

        Raises:
            UsageError: there is no such run.
        """
        with self._database.writing() as connection:
            if not connection.execute(delete(runs).where(runs.c.id == run_id)).rowcount:
                raise no_such_run(run_id)
        self._running.finish(run_id)

    def summaries(self) -> tuple[RunSummary, ...]:
        """All runs, the newest first."""
        found = self._summaries()
        killed = {
            run.id for run in found if run.state == RUNNING and self._running.is_abandoned(run.id)
        }
        if not killed:
            return found
        # One may have come to its end between these two looks.
        return tuple(
            attrs.evolve(run, state=KILLED) if run.state == RUNNING and run.id in killed else run
            for run in self._summaries()
        )

    def _summaries(self) -> tuple[RunSummary, ...]:
        with self._database.reading() as connection, no_garbage():
            return queries.summaries(connection, self.name)

    def summary(self, run_id: int) -> RunSummary:
        """One run.

        Raises:
            UsageError: there is no such run.
        """
        found = next((run for run in self.summaries() if run.id == run_id), None)
        if found is None:
            raise no_such_run(run_id)
        return found

    @contextlib.contextmanager
    def _reading(self, run_id: int) -> Iterator[Connection]:
        with (
            self._database.reading() as connection,
            understood(self.name, run_id),
            no_garbage(),
        ):
            yield connection

    # Cases over many runs

    def case_keys(self) -> tuple[CaseKey, ...]:
        """The cases that any run holds, in the order in which they were first stored."""
        with self._database.reading() as connection:
            return queries.case_keys(connection)

    def runs_with_cases_of(self, run_id: int) -> frozenset[int]:
        """The numbers of the runs that hold a case of this one."""
        keys = select(outcomes.c.case_digest).where(outcomes.c.run_id == run_id)
        found = select(outcomes.c.run_id).where(outcomes.c.case_digest.in_(keys)).distinct()
        with self._database.reading() as connection:
            return frozenset(connection.scalars(found))

    def counts(self, names: Collection[CaseKey]) -> tuple[StoredCount, ...]:
        """What these cases cost on every build of every run, in order of time.

        Runs of unknown time come first; of one run its builds in their order. Costs per function,
        windows, times and outputs are not read.
        """
        with self._database.reading() as connection:
            return tuple(queries.stored_counts(connection, self.name, set(names)))

    # Names

    def find(self, text: str) -> int | None:
        """The number of the run that ``text`` names by its number or its tag, if there is one.

        ``last`` is the newest run, if none is tagged so.
        """
        with self._database.reading() as connection:
            found = _number_of(connection, text)
            if found is None and text == LAST:
                found = connection.scalar(select(func.max(runs.c.id)))
            return found

    def similar_tags(self, text: str) -> list[str]:
        """The tags that are spelled like ``text``."""
        with self._database.reading() as connection:
            return difflib.get_close_matches(text, connection.scalars(select(tags.c.name)))

    def tag(self, run_id: int, name: str, *, force: bool = False) -> None:
        """Give a run a name; with ``force`` one that another run has.

        Raises:
            UsageError: there is no such run, it can be no tag, or another run has it.
        """
        # It would be taken for a number, an option, a file, or a build of a run.
        taken = name.isdecimal() or name.startswith("-") or ":" in name or is_file_name(name)
        if taken or not name.isprintable() or not name or name != name.strip():
            raise UsageError(
                f"{name!r} is not a valid tag",
                "A tag is one or more words, without colons and slashes; no number and no file.",
            )
        with self._database.writing() as connection:
            if connection.scalar(select(runs.c.id).where(runs.c.id == run_id)) is None:
                raise no_such_run(run_id)
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
            is_known = connection.execute(delete(tags).where(tags.c.name == name)).rowcount
        if not is_known:
            raise no_such_name(f'no run has the tag "{name}"', self.similar_tags(name))


def _insert(connection: Connection, run: Run, state: str) -> int:
    """Add a run with its records; returns its number."""
    run_id = queries.put_run(connection, run, state)
    for record in run.cases:
        queries.put_record(connection, run_id, record)
    return run_id


def _number_of(connection: Connection, text: str) -> int | None:
    """The number of the run that ``text`` names by its number or its tag, if there is one."""
    if text.isascii() and text.isdecimal():
        if len(text) > _MOST_DIGITS:
            return None
        return connection.scalar(select(runs.c.id).where(runs.c.id == int(text)))
    if not text.isprintable():  # it may be no text for a database
        return None
    return connection.scalar(select(tags.c.run_id).where(tags.c.name == text))


def no_such_name(problem: str, similar: Sequence[str]) -> UsageError:
    """The error ``problem``, with tags that are spelled similarly."""
    if similar:
        return UsageError(problem, f"Similar tags: {', '.join(similar)}")
    return UsageError(problem, "Stored runs and their tags:", "runs list")


class RunningRuns:
    """The runs that are going on: a process holds the lock of each, which goes when it does.

    The locked files lie beside the database. A server has none, as its runs may go on at any other
    machine. Where files cannot be locked nothing is known, and nobody is kept from measuring.
    """

    def __init__(self, database: Path | None) -> None:
        self._database = database and database.absolute()
        self._held: dict[int, FileLock] = {}

    def begin(self, run_id: int) -> None:
        """This process works at the run from now on."""
        if lock := self._lock(run_id):
            self._held[run_id] = lock

    def finish(self, run_id: int) -> None:
        """The run is at its end, or deleted."""
        if lock := self._held.pop(run_id, None) or self._lock(run_id):
            with contextlib.suppress(OSError):
                Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()

    def is_abandoned(self, run_id: int) -> bool:
        """Whether nobody works at a run (any more)."""
        if run_id in self._held or not (lock := self._lock(run_id)):
            return False
        lock.release()
        return True

    def close(self) -> None:
        """Let go of all, also of those that did not come to their end."""
        for lock in self._held.values():
            lock.release()
        self._held.clear()

    def _lock(self, run_id: int) -> FileLock | None:
        """The lock of a run, which is then held; None where somebody else holds it."""
        if self._database is None:
            return None
        path = self._database.with_name(f"{self._database.name}.run-{run_id}.lock")
        lock = FileLock(path, blocking=False, thread_local=False)
        with contextlib.suppress(Timeout, OSError):
            lock.acquire()
            return lock
        return None
