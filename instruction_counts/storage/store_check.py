"""What is damaged in a database: what SQLite finds, and what of runs is not as it was stored."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from sqlalchemy import select
from sqlalchemy.exc import NoResultFound

from instruction_counts.domain.errors import DataError
from instruction_counts.domain.stored import RunCheck
from instruction_counts.storage.store_database import Database
from instruction_counts.storage.store_errors import UNREADABLE
from instruction_counts.storage.store_reading import read_builds
from instruction_counts.storage.store_rows import read_records
from instruction_counts.storage.store_tables import cases, outcomes, runs

_MOST_FOUND = 20
"""So many problems are asked of SQLite; there can be one for each row."""


def file_problems(database: Database) -> Iterator[str]:
    """What SQLite finds wrong in its file; a server looks after its own."""
    if database.path is None:
        return
    try:
        with database.reading() as connection:
            found = connection.exec_driver_sql(f"PRAGMA integrity_check({_MOST_FOUND})").scalars()
            yield from (line for text in found for line in str(text).splitlines() if line != "ok")
            for row in connection.exec_driver_sql("PRAGMA foreign_key_check").fetchmany(3):
                yield f"a row of the table {row[0]} belongs to none of {row[2]}"
    except DataError as error:
        yield error.message


def check_runs(database: Database, wanted: Collection[int]) -> Iterator[RunCheck]:
    """What cannot be read of each run, as it was stored.

    Raises:
        DataError: not even the list of runs and their cases can be read.
    """
    found: dict[int, list[tuple[int, int]]] = defaultdict(list)
    with database.reading() as connection:
        heads = connection.execute(select(runs.c.id, runs.c.cases))
        numbers: dict[int, int] = {row.id: row.cases for row in heads}
        columns = outcomes.c.run_id, outcomes.c.id, outcomes.c.case_id
        # All rows in their own order: an index could be what is damaged.
        for row in connection.execute(select(*columns)):
            found[row.run_id].append((row.id, row.case_id))
    for run_id in sorted(wanted):
        rows = found[run_id]
        problems = list(_head_problems(database, run_id))
        if len(rows) != numbers.get(run_id, 0):
            problems.append(f"of its {numbers.get(run_id, 0)} cases {len(rows)} are found")
        for outcome_id, case_id in rows:
            problem = _record_problem(database, run_id, outcome_id)
            if problem:
                problems.append(f"{_title(database, case_id)}: {problem}")
        yield RunCheck(run_id, len(rows), tuple(problems))


def _head_problems(database: Database, run_id: int) -> Iterator[str]:
    try:
        with database.reading() as connection:
            read_builds(connection, run_id)
    except DataError as error:
        yield error.message
    except UNREADABLE as error:
        yield str(error)


def _record_problem(database: Database, run_id: int, outcome_id: int) -> str:
    try:
        with database.reading() as connection:
            found = read_records(connection, run_id, details=True, outcome_id=outcome_id)
    except DataError as error:
        return error.message
    except UNREADABLE as error:
        return str(error.__cause__ or error)
    return "" if found else "rows that belong to it are missing"


def _title(database: Database, case_id: int) -> str:
    try:
        with database.reading() as connection:
            label = connection.scalars(select(cases.c.label).where(cases.c.id == case_id)).one()
            return " / ".join(label)
    except (DataError, NoResultFound, *UNREADABLE):
        return f"case number {case_id}"
