"""The store: every run in a database, one transaction for each outcome.

What was finished is kept, however the program ends. Several processes and threads can use one store
at once: writers take turns, readers see a state that was whole.
"""

import contextlib
import functools
import itertools
import shlex
import zlib
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Self

import attrs
from filelock import FileLock, Timeout
from sqlalchemy import ColumnElement, Connection, case, delete, func, insert, select, update

from instruction_counts.core.types import CaseKey
from instruction_counts.domain.errors import DataError, UsageError, ValidationError
from instruction_counts.domain.outcomes import Details, Status
from instruction_counts.domain.records import LAST, Identity, Record, Run, RunSummary, StoredCount
from instruction_counts.reading.documents import Node, parsed_json
from instruction_counts.reading.structure import structured
from instruction_counts.storage.database import (
    LOCK_TIMEOUT_S,
    Database,
    outcomes,
    runs,
    searchable,
    tags,
)
from instruction_counts.storage.json_files import (
    CONVERTER,
    dumps,
    is_file_name,
    loads,
    loads_counted,
    no_garbage,
    packed,
    unpacked,
)

RUNNING, COMPLETE, INTERRUPTED = "running", "complete", "interrupted"
KILLED = "killed"
"""Not stored, as a process cannot say it of itself; never said of runs on a server."""

_MOST_DIGITS = 18
"""A number with more of them may not fit into a column."""
_BEHIND = 2**62
"""Where a record stands until the order of all is known: behind those before it."""


class Store:
    """The runs in a file, at a URL of PostgreSQL, or in the user's own database: see `Database`.

    All methods raise `DataError` where the database cannot be read or written; `add`, `finish`,
    `load`, `delete`, `summary` and `tag` raise `UsageError` where there is no such run (any more).
    """

    def __init__(
        self,
        where: str | Path | None = None,
        *,
        must_exist: bool = False,
        lock_timeout_s: float = LOCK_TIMEOUT_S,
    ) -> None:
        self._database = Database(where, must_exist=must_exist, lock_timeout_s=lock_timeout_s)
        self.name = self._database.name
        """The file, or the URL without its password."""
        self.option = self._database.option
        """What names it to another command; empty where it is the user's own."""
        self._going_on: dict[int, FileLock] = {}
        """Locked files beside the database: who measures a run holds that of the run, which goes
        when the process does. A server has none, as its runs may go on at any other machine."""
        self._spool: dict[tuple[int, Identity], bytes] = {}
        """Details that a server stores: it may go away while a run needs them."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the database."""
        for lock in self._going_on.values():
            lock.release()
        self._going_on.clear()
        self._spool.clear()
        self._database.close()

    # A run that goes on

    def begin(self, run: Run) -> int:
        """Store a run that starts, with the cases that it has already; returns its number."""
        with self._database.writing() as connection:
            run_id = _insert(connection, run, RUNNING)
            if lock := self._lock(run_id):  # before anybody can see it
                self._going_on[run_id] = lock
        return run_id

    def add(self, run_id: int, record: Record) -> Record:
        """Store an outcome; it replaces the one that this case on this build has in the run.

        Returns the record as it can stay in memory: without its details, which it reads again, also
        where a server has gone away since.
        """
        with self._database.writing() as connection:
            _check_run(connection, run_id)
            _put_record(connection, run_id, record)
        if self._database.path is None:
            self._spool[run_id, record.identity] = packed(record.outcome.details)
        return record.without_details(self._reader(run_id, record))

    def amend(self, run_id: int, records: Iterable[Record]) -> None:
        """Store what is known by now of records of a stored run, beside their details."""
        with self._database.writing() as connection:
            for record in records:
                document = dumps(record.without_details())
                mine = _is_case(run_id, *record.identity)
                connection.execute(update(outcomes).where(mine).values(document=document))

    def finish(self, run_id: int, run: Run, *, interrupted: bool) -> None:
        """Store how a run ended, and what is known of it only now.

        These are the final fingerprints and the order of cases. Cases that were not added are.
        """
        row = _row(run, INTERRUPTED if interrupted else COMPLETE)
        with self._database.writing() as connection:
            if not connection.execute(update(runs).where(runs.c.id == run_id).values(row)).rowcount:
                raise _no_such_run(run_id)
            for place, record in enumerate(run.cases):
                move = update(outcomes).where(_is_case(run_id, *record.identity))
                move = move.values(position=place)
                if not connection.execute(move).rowcount:
                    _put_record(connection, run_id, record)
                    connection.execute(move)
        self._unlock(run_id)

    # Whole runs

    def import_run(self, run: Run) -> int:
        """Store a whole run; returns its number."""
        with self._database.writing() as connection:
            return _insert(connection, run, COMPLETE if run.is_finished else INTERRUPTED)

    def load(self, run_id: int) -> Run:
        """A stored run; its records read their details when these are asked for.

        Details are most of what there is to read.
        """
        with self._reading(run_id) as connection:
            head = _head(connection, run_id)
            mine = select(outcomes.c.document).where(outcomes.c.run_id == run_id)
            found = connection.scalars(mine.order_by(outcomes.c.position, outcomes.c.id))
            records = (loads(text, Record) for text in found)
            light = (attrs.evolve(of, stored=self._reader(run_id, of)) for of in records)
            return attrs.evolve(head, cases=tuple(light))

    def _reader(self, run_id: int, record: Record) -> Callable[[], Details]:
        return functools.partial(self.details, run_id, record.build, record.key)

    def details(self, run_id: int, build: str, key: CaseKey) -> Details:
        """What is large in the outcome of a case; nothing where it is not stored (any more)."""
        if (spooled := self._spool.get((run_id, (build, key)))) is not None:
            return unpacked(spooled)
        with self._reading(run_id) as connection:
            mine = select(outcomes.c.details).where(_is_case(run_id, build, key))
            data = connection.scalar(mine)
            return Details() if data is None else unpacked(data)

    def delete(self, run_id: int) -> None:
        """Remove a run with its tags."""
        with self._database.writing() as connection:
            if not connection.execute(delete(runs).where(runs.c.id == run_id)).rowcount:
                raise _no_such_run(run_id)
        self._unlock(run_id)

    def summaries(self) -> tuple[RunSummary, ...]:
        """All runs, the newest first."""
        with self._database.reading() as connection:
            going_on = connection.scalars(select(runs.c.id).where(runs.c.state == RUNNING)).all()
        killed = set()
        for run_id in going_on:
            if lock := self._lock(run_id):
                lock.release()
                killed.add(run_id)
        failures = [status.value for status in Status if status.is_failure]
        failing = case((outcomes.c.status.in_(failures), outcomes.c.case_digest))
        both = (func.count(each.distinct()) for each in (outcomes.c.case_digest, failing))
        numbers = select(outcomes.c.run_id, *both).group_by(outcomes.c.run_id)
        found = []
        with self._database.reading() as connection, no_garbage():
            named = _tags(connection)
            known = {run_id: counts for run_id, *counts in connection.execute(numbers)}
            for row in connection.execute(select(runs).order_by(runs.c.id.desc())):
                with self._understood(row.id):
                    head = loads(row.document, Run)
                cases, failed = known.get(row.id, (0, 0))
                # One may have come to its end between these two looks.
                is_killed = row.state == RUNNING and row.id in killed
                found.append(
                    RunSummary(
                        id=row.id,
                        started_at=head.started_at,
                        state=KILLED if is_killed else row.state,
                        engine=head.engine,
                        builds={name: build.torch for name, build in head.builds.items()},
                        tags=named[row.id],
                        cases=cases,
                        failed=failed,
                        changed_files=head.changed_files,
                    )
                )
        return tuple(found)

    def _lock(self, run_id: int) -> FileLock | None:
        """The lock of a run, which is then held; None where somebody holds it, or nobody can."""
        if (database := self._database.path) is None:
            return None
        path = database.absolute().with_name(f"{database.name}.run-{run_id}.lock")
        lock = FileLock(path, blocking=False, thread_local=False)
        with contextlib.suppress(Timeout, OSError):
            lock.acquire()
            return lock
        return None

    def _unlock(self, run_id: int) -> None:
        """The run is at its end, or deleted."""
        if lock := self._going_on.pop(run_id, None) or self._lock(run_id):
            with contextlib.suppress(OSError):
                Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()

    def summary(self, run_id: int) -> RunSummary:
        """One run."""
        found = next((run for run in self.summaries() if run.id == run_id), None)
        if found is None:
            raise _no_such_run(run_id)
        return found

    @contextlib.contextmanager
    def _reading(self, run_id: int) -> Iterator[Connection]:
        with self._database.reading() as connection, self._understood(run_id), no_garbage():
            yield connection

    @contextlib.contextmanager
    def _understood(self, run_id: int) -> Iterator[None]:
        """Report what cannot be read in a run as a `DataError` that names database and run."""
        try:
            yield
        except (
            *(ValueError, KeyError, TypeError, RecursionError),
            *(zlib.error, ValidationError),
        ) as error:
            problem, name = str(error), f"{self.name}: run {run_id}"
            if isinstance(error, ValidationError):
                first = error.problems[0]
                problem = f"{first.file} {first.path} is {first.found}, expected {first.expected}"
                if first.path.endswith(".runtime"):
                    remedy = "If a program of yours registers that runtime, read it with that one."
                    raise DataError(f"{name} cannot be read: {problem}", remedy) from error
            raise DataError(
                f"{name} cannot be read: {problem}",
                "It was changed by another program, or is damaged: restore a copy of the database, "
                "or delete the run:",
                f"runs delete {run_id}",
            ) from error

    # Cases over many runs

    def case_keys(self) -> tuple[CaseKey, ...]:
        """The cases that any run holds, in the order in which they were first stored.

        Those of runtimes that are not registered now are left out.
        """
        first = select(func.min(outcomes.c.id)).group_by(outcomes.c.case_digest)
        columns = (outcomes.c[field.name] for field in attrs.fields(CaseKey))
        wanted = select(*columns).where(outcomes.c.id.in_(first)).order_by(outcomes.c.id)
        found = []
        with self._database.reading() as connection:
            for row in connection.execute(wanted).mappings():
                values = {**row, "label": parsed_json(row["label"])}
                with contextlib.suppress(ValidationError):
                    found.append(structured(Node(self.name, values), CaseKey, CONVERTER))
        return tuple(found)

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
            return tuple(self._counts(connection, {key.digest[:32]: key for key in names}))

    def _counts(
        self, connection: Connection, wanted: Mapping[str, CaseKey]
    ) -> Iterator[StoredCount]:
        named = _tags(connection)
        asked = select(outcomes.c.run_id, outcomes.c.case_digest, outcomes.c.document)
        asked = asked.join_from(outcomes, runs).where(outcomes.c.case_digest.in_(wanted))
        place = runs.c.started_at, runs.c.id, outcomes.c.position, outcomes.c.id
        rows = connection.execute(asked.order_by(*place)).all()
        for run_id, of_run in itertools.groupby(rows, key=lambda row: int(row.run_id)):
            with self._understood(run_id):
                head = _head(connection, run_id)
                found = [(wanted[row.case_digest], loads_counted(row.document)) for row in of_run]
            names = list(head.builds)
            known = [(key, record) for key, record in found if record.build in head.builds]
            for key, record in sorted(known, key=lambda pair: names.index(pair[1].build)):
                yield StoredCount(
                    case=key,
                    run_id=run_id,
                    started_at=head.started_at,
                    tags=named[run_id],
                    engine=head.engine,
                    fingerprint=head.builds[record.build],
                    has_changed_files=record.build in head.changed_files,
                    in_order=head.in_order,
                    **attrs.asdict(record, recurse=False),
                )

    # Names

    def find(self, text: str) -> int | None:
        """The number of the run that ``text`` names by its number or its tag, if there is one.

        ``last`` is the newest run, if none is tagged so.
        """
        if text.isascii() and text.isdecimal():
            number = int(text) if len(text) <= _MOST_DIGITS else 0  # which no run has
            wanted = select(runs.c.id).where(runs.c.id == number)
        else:  # what cannot be printed may be no text for a database
            name = text if text.isprintable() else ""
            wanted = select(tags.c.run_id).where(tags.c.name == name)
        with self._database.reading() as connection:
            found = connection.scalar(wanted)
            if found is None and text == LAST:
                found = connection.scalar(select(func.max(runs.c.id)))
            return found

    def tag(self, run_id: int, name: str, *, force: bool = False) -> None:
        """Give a run a name; with ``force`` one that another run has.

        Raises:
            UsageError: it can be no tag, or another run has it.
        """
        # It would be taken for a number, an option, a file, or a build of a run.
        taken = name.isdecimal() or name.startswith("-") or ":" in name or is_file_name(name)
        if name == LAST:
            raise UsageError(f'"{LAST}" is always the newest run', "Choose another tag.")
        if taken or not name.isprintable() or not name or name != name.strip():
            raise UsageError(
                f"{name!r} is not a valid tag",
                "A tag is printable text without colon and slash, and not a number; it does not "
                "begin with a dash or space, or end in a space, .json or .json.gz.",
            )
        with self._database.writing() as connection:
            _check_run(connection, run_id)
            holder = connection.scalar(select(tags.c.run_id).where(tags.c.name == name))
            if holder not in {None, run_id} and not force:
                raise UsageError(f'run {holder} has the tag "{name}"', "Move it with --force.")
            connection.execute(delete(tags).where(tags.c.name == name))
            connection.execute(insert(tags), {"name": name, "run_id": run_id})

    def untag(self, name: str) -> None:
        """Take a name away from its run.

        Raises:
            UsageError: no run has it.
        """
        with self._database.writing() as connection:
            is_known = connection.execute(delete(tags).where(tags.c.name == name)).rowcount
        if not is_known:
            again = shlex.join(["runs", "list", *self.option])
            raise UsageError(f'no run has the tag "{name}"', "Stored runs and their tags:", again)


def _no_such_run(run_id: int) -> UsageError:
    return UsageError(
        f"there is no stored run {run_id} (any more)", "Stored runs and their tags:", "runs list"
    )


# Rows


def _row(run: Run, state: str) -> dict[str, str]:
    """What is known of a run but its cases."""
    document = dumps(attrs.evolve(run, cases=()))
    return {"started_at": searchable(run.started_at), "state": state, "document": document}


def _insert(connection: Connection, run: Run, state: str) -> int:
    """Add a run with its records; returns its number."""
    key = connection.execute(insert(runs), _row(run, state)).inserted_primary_key
    assert key is not None, "one row was inserted"
    for record in run.cases:
        _put_record(connection, key[0], record)
    return int(key[0])


def _check_run(connection: Connection, run_id: int) -> None:
    if connection.scalar(select(runs.c.id).where(runs.c.id == run_id)) is None:
        raise _no_such_run(run_id)


def _head(connection: Connection, run_id: int) -> Run:
    """A run without its records."""
    document = connection.scalar(select(runs.c.document).where(runs.c.id == run_id))
    if document is None:
        raise _no_such_run(run_id)
    return loads(document, Run)


def _is_case(run_id: int, build: str, key: CaseKey) -> ColumnElement[bool]:
    return (
        (outcomes.c.run_id == run_id)
        & (outcomes.c.case_digest == key.digest[:32])
        & (outcomes.c.build == searchable(build))
    )


def _put_record(connection: Connection, run_id: int, record: Record) -> None:
    """Store an outcome in the place of the one of its case, or behind the others of the run."""
    outcome, counted = record.outcome, record.outcome.instructions
    values = {
        **record.key.as_values,
        "label": dumps(record.label),
        "definition_hash": searchable(record.definition_hash),
        "status": outcome.status.value,
        "per_run": None if counted is None else counted.per_run,
        "exact": None if counted is None else counted.exact,
        "document": dumps(record.without_details()),
        "details": packed(outcome.details),
    }
    mine = _is_case(run_id, *record.identity)
    if connection.execute(update(outcomes).where(mine).values(values)).rowcount:
        return
    place = {
        "run_id": run_id,
        "position": _BEHIND,
        "case_digest": record.key.digest[:32],
        "build": searchable(record.build),
    }
    connection.execute(insert(outcomes), {**place, **values})


def _tags(connection: Connection) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = defaultdict(tuple)
    for run_id, name in sorted(connection.execute(select(tags.c.run_id, tags.c.name))):
        found[run_id] += (name,)
    return found
