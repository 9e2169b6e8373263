"""How runs and their records are written into the store's tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
from sqlalchemy import Connection, bindparam, delete, func, select, update

from core.types import CaseKey
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.records import Record, Run
from instruction_counts.storage.store_errors import require_run
from instruction_counts.storage.store_rows import (
    build_number,
    insert_record,
    insert_row,
    key_digest,
)
from instruction_counts.storage.store_tables import (
    builds,
    cases,
    machines,
    outcomes,
    run_builds,
    runs,
)


def head_values(run: Run, state: str) -> dict[str, Any]:
    """The row of a run."""
    return {
        "started_at": run.started_at,
        "tool_version": run.tool_version,
        "engine": run.engine,
        "state": state,
        "machine": None if run.machine is None else attrs.asdict(run.machine),
        "changed_files": {name: attrs.asdict(files) for name, files in run.changed_files.items()},
        "package_folders": run.package_folders,
    }


def insert_run(connection: Connection, run: Run, state: str) -> int:
    """Add a run with its builds and records; returns its number."""
    run_id = insert_row(connection, runs, {**head_values(run, state), "cases": 0})
    put_builds(connection, run_id, run.builds)
    for record in run.cases:
        put_record(connection, run_id, record)
    return run_id


def put_builds(
    connection: Connection, run_id: int, fingerprints: Mapping[str, Fingerprint]
) -> None:
    """Store the fingerprint of each build of a run, in their order."""
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
    require_run(connection, run_id)
    return insert_row(connection, run_builds, {"run_id": run_id, "name": name})


def put_record(connection: Connection, run_id: int, record: Record) -> int:
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
        one_more = update(runs).where(runs.c.id == run_id).values(cases=runs.c.cases + 1)
        connection.execute(one_more)
    return insert_record(connection, record, run_id=run_id, run_build_id=number, position=position)


def put_noises(
    connection: Connection, run_id: int, build: str, noises: Mapping[CaseKey, Noise]
) -> None:
    """Store what was seen to move the counts of cases of a stored run."""
    number = _run_build(connection, run_id, build)
    for key, noise in noises.items():
        mine = outcomes.c.run_build_id == number, outcomes.c.identity == key_digest(key)
        change = update(outcomes).where(*mine).values(noise=attrs.asdict(noise))
        connection.execute(change)


def put_in_order(connection: Connection, run_id: int, run: Run) -> None:
    """Give the records of a stored run the order of ``run``, and add those that are missing."""
    known = _outcome_numbers(connection, run_id)
    missing = [record for record in run.cases if _name(record) not in known]
    if missing:
        for record in missing:
            put_record(connection, run_id, record)
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


def sweep(connection: Connection) -> None:
    """Remove what nothing refers to any more."""
    for table, user in (
        (cases, outcomes.c.case_id),
        (builds, run_builds.c.build_id),
        (machines, builds.c.machine_id),
    ):
        in_use = select(user).where(user == table.c.id).exists()
        connection.execute(delete(table).where(~in_use))
