"""The store: every run in a database, one transaction for each outcome.

What was finished is kept, however the program ends. Several processes and threads can use one store
at once: writers take turns, readers see a state that was whole.
"""

from __future__ import annotations

import difflib
import gc
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import attrs
import cattrs
from sqlalchemy import Connection, bindparam, delete, func, insert, select, update

from core.modes import mode_of
from core.types import AutogradMode, CaseKey, Language, RuntimeMode
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.outcomes import Details, Instructions, Machine, Status
from instruction_counts.domain.records import Record, Run
from instruction_counts.domain.stored import RunSummary, StoredCount
from instruction_counts.storage.json_files import is_file_name
from instruction_counts.storage.store_database import LOCK_TIMEOUT_S, Database
from instruction_counts.storage.store_rows import (
    build_number,
    insert_record,
    insert_row,
    key_digest,
    read_details,
    read_records,
)
from instruction_counts.storage.store_running import RunningRuns
from instruction_counts.storage.store_tables import (
    builds,
    cases,
    failures,
    machines,
    outcomes,
    run_builds,
    runs,
    tags,
)
from instruction_counts.system.program import program_name

RUNNING, COMPLETE, INTERRUPTED = "running", "complete", "interrupted"
KILLED = "killed"
"""Not stored, as a process cannot say it of itself."""

_MOST_DIGITS = 18
"""A number with more of them may not fit into a column."""


class Store:
    """The runs of a database; see `Store.open`.

    All methods raise `DataError` where the database cannot be read or written.
    """

    def __init__(self, database: Database) -> None:
        self._database = database
        self._running = RunningRuns(database.path)

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
        self._database.close()

    @property
    def name(self) -> str:
        """The file, or the URL without its password."""
        return self._database.name

    # A run that goes on

    def begin(self, run: Run) -> int:
        """Store a run that starts, with the cases that it has already; returns its number."""
        with self._database.writing() as connection:
            run_id = _insert_run(connection, run, RUNNING)
        self._running.begin(run_id)
        return run_id

    def add(self, run_id: int, record: Record) -> Record:
        """Store an outcome; it replaces the one that this case on this build has in the run.

        Returns the record without its details, which need not stay in memory (see `completed`).
        """
        with self._database.writing() as connection:
            _put(connection, run_id, record)
        return record.without_details(run_id)

    def finish(self, run_id: int, run: Run, *, interrupted: bool) -> None:
        """Store how a run ended, and what is known of it only now.

        These are the final fingerprints and the order of cases. Cases that were not added are.
        """
        with self._database.writing() as connection:
            state = INTERRUPTED if interrupted else COMPLETE
            changed = connection.execute(
                update(runs).where(runs.c.id == run_id).values(_head(run, state))
            )
            if not changed.rowcount:
                raise _is_gone(run_id)
            _put_builds(connection, run_id, run.builds)
            _put_in_order(connection, run_id, run)
            _sweep(connection)
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
            return _insert_run(connection, run, COMPLETE)

    def load(self, run_id: int, *, details: bool = True) -> Run:
        """A stored run, as it was measured; without ``details`` a tenth of it (see `completed`).

        Raises:
            UsageError: there is no such run.
        """
        with (
            self._database.reading() as connection,
            _understood(self.name, run_id),
            _no_garbage(),
        ):
            head = connection.execute(select(runs).where(runs.c.id == run_id)).one_or_none()
            if head is None:
                raise _is_gone(run_id)
            return Run(
                tool_version=head.tool_version,
                engine=head.engine,
                builds=_read_builds(connection, run_id),
                cases=read_records(connection, run_id, details=details),
                started_at=head.started_at,
                machine=None if head.machine is None else Machine(**head.machine),
            )

    def details(self, run_id: int, build: str, key: CaseKey) -> Details:
        """What is large in the outcome of a case; nothing where it is not stored (any more)."""
        with (
            self._database.reading() as connection,
            _understood(self.name, run_id),
            _no_garbage(),
        ):
            return read_details(connection, run_id, build, key) or Details()

    def completed(self, record: Record) -> Record:
        """The record with its details, which are read from the run that it is stored in."""
        if record.stored_in is None:
            return record
        return record.with_details(self.details(record.stored_in, record.build, record.key))

    def delete(self, run_id: int) -> None:
        """Remove a run, its tags, and what no other run refers to.

        Raises:
            UsageError: there is no such run.
        """
        with self._database.writing() as connection:
            if not connection.execute(delete(runs).where(runs.c.id == run_id)).rowcount:
                raise _is_gone(run_id)
            _sweep(connection)
        self._running.finish(run_id)
        with suppress(DataError):  # another process may be busy; then a later time will do
            self._database.give_back_space()

    def summaries(self) -> tuple[RunSummary, ...]:
        """All runs, the newest first."""
        with self._database.reading() as connection:
            found = _summaries(connection)
        return tuple(self._with_its_end(one) for one in found)

    def _with_its_end(self, one: RunSummary) -> RunSummary:
        is_killed = one.state == RUNNING and self._running.is_abandoned(one.id)
        return attrs.evolve(one, state=KILLED) if is_killed else one

    def summary(self, run_id: int) -> RunSummary:
        """One run.

        Raises:
            UsageError: there is no such run.
        """
        found = next((one for one in self.summaries() if one.id == run_id), None)
        if found is None:
            raise _is_gone(run_id)
        return found

    # Cases over many runs

    def case_keys(self) -> tuple[CaseKey, ...]:
        """The cases that any run holds, in the order in which they were first stored."""
        with self._database.reading() as connection:
            return tuple(dict.fromkeys(_case_keys(connection).values()))

    def counts(
        self, names: Collection[CaseKey], *, last_runs: int | None = None
    ) -> tuple[StoredCount, ...]:
        """What these cases cost on every build of every run, in order of time.

        Runs of unknown time come first; of one run its builds in their order. Costs per function,
        windows, times and outputs are not read. ``last_runs`` are so many runs, the newest.
        """
        with self._database.reading() as connection:
            return tuple(_stored_counts(connection, self.name, set(names), last_runs))

    # Names

    def find(self, text: str) -> int | None:
        """The number of the run that ``text`` names by its number or its tag, if there is one."""
        with self._database.reading() as connection:
            return _find(connection, text)

    def resolve(self, text: str) -> int:
        """The number of the run that ``text`` names.

        Raises:
            UsageError: there is none; with tags that are spelt alike.
        """
        with self._database.reading() as connection:
            found = _find(connection, text)
            if found is None:
                raise _unknown(connection, f'there is no stored run "{text}"', text)
            return found

    def tag(self, run_id: int, name: str, *, force: bool = False) -> None:
        """Give a run a name; with ``force`` one that another run has.

        Raises:
            UsageError: there is no such run, it can be no tag, or another run has it.
        """
        _check_tag(name)
        with self._database.writing() as connection:
            _require(connection, run_id)
            holder = connection.scalar(select(tags.c.run_id).where(tags.c.name == name))
            if holder not in {None, run_id} and not force:
                raise UsageError(f'run {holder} has the tag "{name}"', "Move it with --force.")
            connection.execute(delete(tags).where(tags.c.name == name))
            connection.execute(insert(tags), {"name": name, "run_id": run_id})

    def untag(self, name: str) -> None:
        """Take a name away from its run.

        Raises:
            UsageError: no run has it; with tags that are spelt alike.
        """
        with self._database.writing() as connection:
            if not connection.execute(delete(tags).where(tags.c.name == name)).rowcount:
                raise _unknown(connection, f'no run has the tag "{name}"', name)


_FAILED = (Status.FAILED, Status.TIMEOUT)


# Writing


def _head(run: Run, state: str) -> dict[str, Any]:
    return {
        "started_at": run.started_at,
        "tool_version": run.tool_version,
        "engine": run.engine,
        "state": state,
        "machine": None if run.machine is None else attrs.asdict(run.machine),
    }


def _insert_run(connection: Connection, run: Run, state: str) -> int:
    run_id = insert_row(connection, runs, _head(run, state))
    _put_builds(connection, run_id, run.builds)
    for record in run.cases:
        _put(connection, run_id, record)
    return run_id


def _put_builds(
    connection: Connection, run_id: int, fingerprints: Mapping[str, Fingerprint]
) -> None:
    for position, (name, fingerprint) in enumerate(fingerprints.items()):
        number = _run_build(connection, run_id, name)
        build_id = build_number(connection, fingerprint)
        values = {"position": position, "build_id": build_id}
        connection.execute(update(run_builds).where(run_builds.c.id == number).values(values))


def _run_build(connection: Connection, run_id: int, name: str) -> int:
    """The number of a name of a build in a run, added if it was not there."""
    mine = (run_builds.c.run_id == run_id) & (run_builds.c.name == name)
    found = connection.scalar(select(run_builds.c.id).where(mine))
    if found is not None:
        return int(found)
    _require(connection, run_id)
    return insert_row(connection, run_builds, {"run_id": run_id, "name": name})


def _put(connection: Connection, run_id: int, record: Record) -> int:
    """Store an outcome; returns its number."""
    number = _run_build(connection, run_id, record.build)
    mine = (outcomes.c.run_build_id == number) & (outcomes.c.identity == key_digest(record.key))
    position = connection.scalar(select(outcomes.c.position).where(mine))
    if position is not None:
        connection.execute(delete(outcomes).where(mine))
    else:
        last = select(func.max(outcomes.c.position)).where(outcomes.c.run_id == run_id)
        before = connection.scalar(last)
        position = 0 if before is None else before + 1
    return insert_record(connection, record, run_id=run_id, run_build_id=number, position=position)


def _put_in_order(connection: Connection, run_id: int, run: Run) -> None:
    known = _outcome_numbers(connection, run_id)
    missing = [record for record in run.cases if _name(record) not in known]
    if missing:
        for record in missing:
            _put(connection, run_id, record)
        known = _outcome_numbers(connection, run_id)
    # What the run does not hold, if there is anything, comes after it.
    later = outcomes.c.position + len(run.cases)
    connection.execute(update(outcomes).where(outcomes.c.run_id == run_id).values(position=later))
    places = [
        {"number": known[_name(record)], "place": place} for place, record in enumerate(run.cases)
    ]
    if places:
        move = update(outcomes).where(outcomes.c.id == bindparam("number"))
        connection.execute(move.values(position=bindparam("place")), places)


def _outcome_numbers(connection: Connection, run_id: int) -> dict[tuple[str, str], int]:
    rows = connection.execute(
        select(run_builds.c.name, outcomes.c.identity, outcomes.c.id)
        .join_from(outcomes, run_builds)
        .where(outcomes.c.run_id == run_id)
    )
    return {(name, identity): number for name, identity, number in rows}


def _name(record: Record) -> tuple[str, str]:
    return record.build, key_digest(record.key)


def _sweep(connection: Connection) -> None:
    """Remove what nothing refers to any more."""
    for table, user in (
        (cases, outcomes.c.case_id),
        (builds, run_builds.c.build_id),
        (machines, builds.c.machine_id),
    ):
        in_use = select(user).where(user == table.c.id).exists()
        connection.execute(delete(table).where(~in_use))


# Reading


def _read_builds(connection: Connection, run_id: int) -> dict[str, Fingerprint]:
    rows = connection.execute(
        select(run_builds.c.name, builds.c.fingerprint)
        .join_from(run_builds, builds)
        .where(run_builds.c.run_id == run_id)
        .order_by(run_builds.c.position)
    )
    return {name: Fingerprint(**fingerprint) for name, fingerprint in rows}


def _summaries(connection: Connection) -> tuple[RunSummary, ...]:
    versions, names = _versions(connection), _tags(connection)
    counts = _counts(connection)
    return tuple(
        RunSummary(
            id=row.id,
            started_at=row.started_at,
            state=row.state,
            engine=row.engine,
            builds=versions[row.id],
            tags=tuple(sorted(names[row.id])),
            cases=sum(counts[row.id].values()),
            failed=sum(counts[row.id][one.value] for one in _FAILED),
        )
        for row in connection.execute(select(runs).order_by(runs.c.id.desc()))
    )


def _versions(connection: Connection) -> dict[int, dict[str, str]]:
    found: dict[int, dict[str, str]] = defaultdict(dict)
    for run_id, name, torch in connection.execute(
        select(run_builds.c.run_id, run_builds.c.name, builds.c.torch)
        .join_from(run_builds, builds)
        .order_by(run_builds.c.position)
    ):
        found[run_id][name] = torch
    return found


def _tags(connection: Connection) -> dict[int, list[str]]:
    found: dict[int, list[str]] = defaultdict(list)
    for run_id, name in connection.execute(select(tags.c.run_id, tags.c.name)):
        found[run_id].append(name)
    return found


def _counts(connection: Connection) -> dict[int, Counter[str]]:
    """How many outcomes of each status a run has."""
    found: dict[int, Counter[str]] = defaultdict(Counter)
    key = outcomes.c.run_id, outcomes.c.status
    for run_id, status, number in connection.execute(select(*key, func.count()).group_by(*key)):
        found[run_id][status] = number
    return found


def _case_keys(connection: Connection) -> dict[int, CaseKey]:
    """The name of each case by its number; the code of a case can change under one name."""
    rows = connection.execute(
        select(
            cases.c.id,
            cases.c.label,
            cases.c.language,
            cases.c.runtime,
            cases.c.autograd,
            cases.c.num_threads,
        ).order_by(cases.c.id)
    )
    return {
        row.id: CaseKey(
            tuple(row.label),
            mode_of(Language, row.language),
            mode_of(RuntimeMode, row.runtime),
            mode_of(AutogradMode, row.autograd),
            row.num_threads,
        )
        for row in rows
    }


_COUNTED = (
    "per_run",
    "exact",
    "spread",
    "loop",
    "all_threads_per_run",
)


def _stored_counts(
    connection: Connection, name: str, names: Collection[CaseKey], last_runs: int | None
) -> Iterator[StoredCount]:
    wanted = {number: one for number, one in _case_keys(connection).items() if one in names}
    tagged = _tags(connection)
    recent = select(runs.c.id).order_by(runs.c.id.desc()).limit(last_runs)
    rows = connection.execute(
        select(
            outcomes.c.run_id,
            outcomes.c.case_id,
            outcomes.c.status,
            *(outcomes.c[column] for column in _COUNTED),
            cases.c.definition_hash,
            runs.c.started_at,
            runs.c.engine,
            run_builds.c.name,
            builds.c.id.label("build_id"),
            builds.c.fingerprint,
            failures.c.message,
        )
        .select_from(
            outcomes.join(cases)
            .join(runs, runs.c.id == outcomes.c.run_id)
            .join(run_builds, run_builds.c.id == outcomes.c.run_build_id)
            .join(builds, builds.c.id == run_builds.c.build_id)
            .outerjoin(failures)
        )
        .where(outcomes.c.case_id.in_(wanted), outcomes.c.run_id.in_(recent))
        .order_by(runs.c.started_at, runs.c.id, run_builds.c.position, outcomes.c.position)
    )
    fingerprints: dict[int, Fingerprint] = {}
    for row in rows:
        with _understood(name, row.run_id):
            if row.build_id not in fingerprints:
                fingerprints[row.build_id] = Fingerprint(**row.fingerprint)
            yield StoredCount(
                case=wanted[row.case_id],
                run_id=row.run_id,
                started_at=row.started_at,
                tags=tuple(sorted(tagged[row.run_id])),
                engine=row.engine,
                build=row.name,
                fingerprint=fingerprints[row.build_id],
                definition_hash=row.definition_hash,
                status=Status(row.status),
                instructions=_count_of(row),
                failure=(row.message or "").partition("\n")[0],
            )


def _count_of(row: Any) -> Instructions | None:
    if row.per_run is None:
        return None
    return Instructions(windows=(), **{column: getattr(row, column) for column in _COUNTED})


def _find(connection: Connection, text: str) -> int | None:
    if text.isascii() and text.isdecimal():
        if len(text) > _MOST_DIGITS:
            return None
        query = select(runs.c.id).where(runs.c.id == int(text))
    else:
        query = select(tags.c.run_id).where(tags.c.name == text)
    found = connection.scalar(query)
    return None if found is None else int(found)


@contextmanager
def _no_garbage() -> Iterator[None]:
    # A run can have a million values, and no cycles. Going over all of them again and again would
    # take four times as long as making them.
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


# What can be wrong


def _require(connection: Connection, run_id: int) -> None:
    if connection.scalar(select(runs.c.id).where(runs.c.id == run_id)) is None:
        raise _is_gone(run_id)


def _is_gone(run_id: int) -> UsageError:
    return UsageError(f"there is no stored run {run_id} (any more)", _list())


def _unknown(connection: Connection, problem: str, name: str) -> UsageError:
    near = difflib.get_close_matches(name, connection.scalars(select(tags.c.name)))
    return UsageError(problem, f"Similar tags: {', '.join(near)}" if near else _list())


def _check_tag(name: str) -> None:
    if not name or not name.isprintable() or name != name.strip() or set(name) & {":", "/"}:
        raise UsageError(
            f"{name!r} can be no tag",
            "A tag is a word or several, without colon and slash.",
        )
    if is_file_name(name):
        raise UsageError(f'"{name}" can be no tag', "It would be taken for a file.")
    if name.isdecimal() or name.startswith("-"):
        raise UsageError(
            f'"{name}" can be no tag', "It would be taken for a number of a run, or for an option."
        )


@contextmanager
def _understood(name: str, run_id: int) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, TypeError, zlib.error, cattrs.BaseValidationError) as error:
        raise DataError(
            f"{name}: run {run_id} cannot be read: {error}",
            "It was changed by another program, or is damaged. The other runs are not concerned.",
        ) from error


def _list() -> str:
    return f"Stored runs and their tags: {program_name()} runs list"
