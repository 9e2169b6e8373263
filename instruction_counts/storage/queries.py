"""Runs, records and what is asked of many of them, as rows of the store's tables and back."""

from __future__ import annotations

import contextlib
import itertools
import zlib
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping

import attrs
from sqlalchemy import ColumnElement, Connection, bindparam, func, insert, select, update

from instruction_counts.core.types import CaseKey
from instruction_counts.domain.errors import DataError, UsageError, ValidationError
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import Details, Status
from instruction_counts.domain.records import Record, Run, RunSummary, StoredCount
from instruction_counts.storage.json_files import dumps, loads, packed, parsed, unpacked
from instruction_counts.storage.tables import digest_of, outcomes, runs, searchable, tags

_FAILED = (Status.FAILED, Status.TIMEOUT)


def no_such_run(run_id: int) -> UsageError:
    """The error that there is no run of that number (any more)."""
    return UsageError(
        f"there is no stored run {run_id} (any more)", "Stored runs and their tags:", "runs list"
    )


@contextlib.contextmanager
def understood(name: str, run_id: int) -> Iterator[None]:
    """Report what cannot be read in a run as a `DataError` that names the database and the run."""
    try:
        yield
    except (ValueError, KeyError, TypeError, RecursionError, zlib.error, ValidationError) as error:
        problem = str(error)
        if isinstance(error, ValidationError):
            first = error.problems[0]
            problem = f"{first.file} {first.path} is {first.found}, expected {first.expected}"
        raise DataError(
            f"{name}: run {run_id} cannot be read: {problem}",
            "It was changed by another program, or is damaged: restore a copy of the database, or "
            "delete the run:",
            f"runs delete {run_id}",
        ) from error


# Runs


def put_run(connection: Connection, run: Run, state: str, run_id: int | None = None) -> int:
    """Store what is known of a run but its cases: of one that is stored, or a new one.

    Raises:
        UsageError: there is no run ``run_id``.
    """
    row = {
        "started_at": searchable(run.started_at),
        "state": state,
        "document": dumps(attrs.evolve(run, cases=())),
    }
    if run_id is None:
        key = connection.execute(insert(runs), row).inserted_primary_key
        assert key is not None, "one row was inserted"
        return int(key[0])
    if not connection.execute(update(runs).where(runs.c.id == run_id).values(row)).rowcount:
        raise no_such_run(run_id)
    return run_id


def read_run(connection: Connection, run_id: int, *, details: bool) -> Run:
    """A run; without ``details`` its records are ``stored_in`` it.

    Raises:
        UsageError: there is no such run.
    """
    head = _head(connection, run_id)
    # Details are most of what there is to read.
    columns = [outcomes.c.document, *([outcomes.c.details] if details else [])]
    rows = connection.execute(
        select(*columns)
        .where(outcomes.c.run_id == run_id)
        .order_by(outcomes.c.position, outcomes.c.id)
    )
    records = []
    for row in rows:
        record = loads(row.document, Record)
        records.append(
            record.with_details(unpacked(row.details, Details))
            if details
            else attrs.evolve(record, stored_in=run_id)
        )
    return attrs.evolve(head, cases=tuple(records))


def _head(connection: Connection, run_id: int) -> Run:
    document = connection.scalar(select(runs.c.document).where(runs.c.id == run_id))
    if document is None:
        raise no_such_run(run_id)
    return loads(document, Run)


def summaries(connection: Connection, name: str) -> tuple[RunSummary, ...]:
    """All runs, the newest first; ``name`` is that of the database, for errors."""
    named = _tags(connection)
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    group = outcomes.c.run_id, outcomes.c.status
    for run_id, status, number in connection.execute(select(*group, func.count()).group_by(*group)):
        counts[run_id][status] = number
    found = []
    for row in connection.execute(select(runs).order_by(runs.c.id.desc())):
        with understood(name, row.id):
            head = loads(row.document, Run)
        found.append(
            RunSummary(
                id=row.id,
                started_at=head.started_at,
                state=row.state,
                engine=head.engine,
                builds={name: fingerprint.torch for name, fingerprint in head.builds.items()},
                tags=named[row.id],
                cases=counts[row.id].total(),
                failed=sum(counts[row.id][status.value] for status in _FAILED),
                changed_files=head.changed_files,
            )
        )
    return tuple(found)


def _tags(connection: Connection) -> dict[int, tuple[str, ...]]:
    found: dict[int, tuple[str, ...]] = defaultdict(tuple)
    for run_id, name in sorted(connection.execute(select(tags.c.run_id, tags.c.name))):
        found[run_id] += (name,)
    return found


# Records


def _is_case(run_id: int, build: str, key: CaseKey) -> ColumnElement[bool]:
    return (
        (outcomes.c.run_id == run_id)
        & (outcomes.c.case_digest == digest_of(key))
        & (outcomes.c.build == searchable(build))
    )


def put_record(connection: Connection, run_id: int, record: Record) -> None:
    """Store an outcome; it takes the place of the one that its case on its build has in the run.

    Raises:
        UsageError: there is no such run.
    """
    if connection.scalar(select(runs.c.id).where(runs.c.id == run_id)) is None:
        raise no_such_run(run_id)
    outcome, counted = record.outcome, record.outcome.instructions
    values = {
        **record.key.as_values,
        "label": dumps(record.label),
        "definition_hash": searchable(record.definition_hash),
        "status": outcome.status.value,
        "per_run": None if counted is None else counted.per_run,
        "exact": None if counted is None else counted.exact,
        "document": dumps(record.without_details(run_id)),
        "details": packed(outcome.details),
    }
    mine = _is_case(run_id, record.build, record.key)
    if connection.execute(update(outcomes).where(mine).values(values)).rowcount:
        return
    last = connection.scalar(
        select(func.max(outcomes.c.position)).where(outcomes.c.run_id == run_id)
    )
    place = {
        "run_id": run_id,
        "position": 0 if last is None else last + 1,
        "case_digest": digest_of(record.key),
        "build": searchable(record.build),
    }
    connection.execute(insert(outcomes), {**place, **values})


def put_noises(
    connection: Connection, run_id: int, build: str, noises: Mapping[CaseKey, Noise]
) -> None:
    """Store what was seen to move the counts of cases of a stored run."""
    for key, noise in noises.items():
        mine = _is_case(run_id, build, key)
        document = connection.scalar(select(outcomes.c.document).where(mine))
        if document is not None:
            noisy = attrs.evolve(loads(document, Record), noise=noise)
            connection.execute(update(outcomes).where(mine).values(document=dumps(noisy)))


def read_details(connection: Connection, run_id: int, build: str, key: CaseKey) -> Details:
    """What is large in an outcome; nothing where the run has no such case."""
    data = connection.scalar(select(outcomes.c.details).where(_is_case(run_id, build, key)))
    return Details() if data is None else unpacked(data, Details)


def put_in_order(connection: Connection, run_id: int, run: Run) -> None:
    """Give the records of a stored run the order of ``run``, and add those that are missing."""
    columns = outcomes.c.build, outcomes.c.case_digest
    known = set(connection.execute(select(*columns).where(outcomes.c.run_id == run_id)))
    places = []
    for place, record in enumerate(run.cases):
        name = searchable(record.build), digest_of(record.key)
        if name not in known:
            put_record(connection, run_id, record)
        places.append({"of_build": name[0], "of_case": name[1], "place": place})
    # What the run does not hold, if there is anything, stays behind the rest.
    move = update(outcomes).where(outcomes.c.run_id == run_id)
    connection.execute(move.values(position=outcomes.c.position + len(places)))
    if places:
        move = move.where(outcomes.c.build == bindparam("of_build"))
        move = move.where(outcomes.c.case_digest == bindparam("of_case"))
        connection.execute(move.values(position=bindparam("place")), places)


# Cases over many runs


def case_keys(connection: Connection) -> tuple[CaseKey, ...]:
    """The cases that any run holds, in the order in which they were first stored.

    Those of runtimes that are not registered now are left out.
    """
    first = select(func.min(outcomes.c.id)).group_by(outcomes.c.case_digest)
    names = ("label", "language", "runtime", "autograd", "num_threads")
    rows = connection.execute(
        select(*(outcomes.c[name] for name in names))
        .where(outcomes.c.id.in_(first))
        .order_by(outcomes.c.id)
    )
    found = []
    for row in rows.mappings():
        with contextlib.suppress(KeyError):
            found.append(CaseKey.of_values({**row, "label": parsed(row["label"])}))
    return tuple(found)


def stored_counts(
    connection: Connection, name: str, keys: Collection[CaseKey]
) -> Iterator[StoredCount]:
    """What these cases cost in every run, in order of time.

    ``name`` is that of the database, for errors.
    """
    wanted = {digest_of(key): key for key in keys}
    named = _tags(connection)
    rows = connection.execute(
        select(outcomes.c.run_id, outcomes.c.case_digest, outcomes.c.document)
        .join_from(outcomes, runs)
        .where(outcomes.c.case_digest.in_(wanted))
        .order_by(runs.c.started_at, runs.c.id, outcomes.c.position)
    ).all()
    for run_id, of_run in itertools.groupby(rows, key=lambda row: int(row.run_id)):
        with understood(name, run_id):
            head = _head(connection, run_id)
            found = [(wanted[row.case_digest], loads(row.document, Record)) for row in of_run]
        names = list(head.builds)
        known = [(key, record) for key, record in found if record.build in head.builds]
        for key, record in sorted(known, key=lambda pair: names.index(pair[1].build)):
            outcome, counted = record.outcome, record.outcome.instructions
            failure = outcome.failure.message if outcome.failure else ""
            yield StoredCount(
                case=key,
                run_id=run_id,
                started_at=head.started_at,
                tags=named[run_id],
                engine=head.engine,
                build=record.build,
                fingerprint=head.builds[record.build],
                definition_hash=record.definition_hash,
                status=outcome.status,
                instructions=None if counted is None else attrs.evolve(counted, windows=()),
                noise=record.noise,
                failure=failure.partition("\n")[0],
                has_changed_files=record.build in head.changed_files,
            )
