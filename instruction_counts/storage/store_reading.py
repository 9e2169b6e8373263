"""How runs, their summaries and counts are read from the store's tables."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterator
from typing import Any

from sqlalchemy import Connection, func, select

from core.labels import mode_of
from core.types import AutogradMode, CaseKey, Language, RuntimeMode
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import Instructions, Status
from instruction_counts.domain.records import ChangedFiles
from instruction_counts.domain.stored import RunSummary, StoredCount
from instruction_counts.storage.checksums import OWN_COLUMNS, require_own
from instruction_counts.storage.store_errors import understood
from instruction_counts.storage.store_rows import digest_of
from instruction_counts.storage.store_tables import (
    builds,
    cases,
    failures,
    outcomes,
    run_builds,
    runs,
    tags,
)

_MOST_DIGITS = 18
"""A number with more of them may not fit into a column."""

_FAILED = (Status.FAILED, Status.TIMEOUT)


def read_builds(connection: Connection, run_id: int) -> dict[str, Fingerprint]:
    """The fingerprint of each build of a run, by its name."""
    rows = connection.execute(
        select(run_builds.c.name, builds.c.digest, builds.c.fingerprint)
        .join_from(run_builds, builds)
        .where(run_builds.c.run_id == run_id)
        .order_by(run_builds.c.position)
    )
    found = {}
    for name, digest, fingerprint in rows:
        if digest_of(fingerprint) != digest:
            raise ValueError(f"the fingerprint of {name} is not what was stored")
        found[name] = Fingerprint(**fingerprint)
    return found


def summaries(connection: Connection) -> tuple[RunSummary, ...]:
    """All runs, the newest first."""
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
            failed=sum(counts[row.id][status.value] for status in _FAILED),
            changed_files=changed_files_of(row),
        )
        for row in connection.execute(select(runs).order_by(runs.c.id.desc()))
    )


def changed_files_of(row: Any) -> dict[str, ChangedFiles]:
    """What a row of `runs` says of files that changed, by build."""
    return {
        name: ChangedFiles(files["number"], tuple(files["first"]))
        for name, files in row.changed_files.items()
    }


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


def case_keys(connection: Connection) -> dict[int, CaseKey]:
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


def stored_counts(
    connection: Connection, name: str, names: Collection[CaseKey], last_runs: int | None
) -> Iterator[StoredCount]:
    """What these cases cost in the newest ``last_runs`` runs, in order of time.

    ``name`` is that of the database, for errors.
    """
    wanted = {number: key for number, key in case_keys(connection).items() if key in names}
    tagged = _tags(connection)
    recent = select(runs.c.id).order_by(runs.c.id.desc()).limit(last_runs)
    rows = connection.execute(
        select(
            outcomes.c.run_id,
            outcomes.c.case_id,
            outcomes.c.noise,
            outcomes.c.checksums,
            *OWN_COLUMNS,
            cases.c.digest,
            cases.c.definition_hash,
            runs.c.started_at,
            runs.c.engine,
            runs.c.changed_files,
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
        with understood(name, row.run_id):
            require_own(row._mapping)  # noqa: SLF001 - SQLAlchemy's own name for it
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
                noise=None if row.noise is None else Noise(**row.noise),
                failure=(row.message or "").partition("\n")[0],
                has_changed_files=row.name in row.changed_files,
            )


def _count_of(row: Any) -> Instructions | None:
    if row.per_run is None:
        return None
    return Instructions(windows=(), **{column: getattr(row, column) for column in _COUNTED})


def find_run(connection: Connection, text: str) -> int | None:
    """The number of the run that ``text`` names by its number or its tag, if there is one."""
    if text.isascii() and text.isdecimal():
        if len(text) > _MOST_DIGITS:
            return None
        query = select(runs.c.id).where(runs.c.id == int(text))
    else:
        query = select(tags.c.run_id).where(tags.c.name == text)
    found = connection.scalar(query)
    return None if found is None else int(found)
