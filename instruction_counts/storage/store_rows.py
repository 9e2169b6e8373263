"""Builds and records as rows of the store's tables, and back."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeAlias

import attrs
import cattrs
from sqlalchemy import Connection, RowMapping, Table, insert, select

from core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.outcomes import (
    Costs,
    Failure,
    FailureKind,
    Instructions,
    Outcome,
    Output,
    Resources,
    Seconds,
    Status,
    Times,
    Window,
)
from instruction_counts.domain.records import Record
from instruction_counts.storage.function_rows import functions_to_json
from instruction_counts.storage.store_tables import (
    builds,
    cases,
    failures,
    function_costs,
    json_of,
    machines,
    outcomes,
    outputs,
    run_builds,
    times,
    windows,
)

_Values: TypeAlias = dict[str, Any]

_COUNTS = (
    "per_run",
    "exact",
    "spread",
    "loop",
    "allocations",
    "allocated_bytes",
    "all_threads_per_run",
    "varying",
)
_CONVERTER = cattrs.Converter()


def insert_row(connection: Connection, table: Table, values: Mapping[str, Any]) -> int:
    """Add a row; returns its number."""
    key = connection.execute(insert(table), dict(values)).inserted_primary_key
    assert key is not None, "one row was inserted"
    return int(key[0])


def digest_of(*parts: Any) -> str:
    """The same for the same parts, in any process and on any machine (SHA-256, 32 digits)."""
    data = json_of(parts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:32]


def identity_digest(record: Record) -> str:
    """A short name for what the case of a record is called, whichever build it ran on."""
    return digest_of(*_identity_values(record).values())


# Writing


def build_number(connection: Connection, fingerprint: Fingerprint) -> int:
    """The number of a build, which is added if it was not there."""
    print_ = fingerprint
    machine = {"machine": print_.machine, "cpu": print_.cpu, "libc": print_.libc}
    whole = attrs.asdict(print_)
    build = {
        "machine_id": _shared(connection, machines, digest_of(machine), machine),
        "torch": print_.torch,
        "torch_git": print_.torch_git,
        "python": print_.python,
        "fingerprint": whole,
    }
    return _shared(connection, builds, digest_of(whole), build)


def insert_record(
    connection: Connection, record: Record, *, run_id: int, run_build_id: int, position: int
) -> int:
    """Add an outcome with all that belongs to it, and its case if it was not there.

    Returns its number.
    """
    case = _case_values(record)
    outcome_id = insert_row(
        connection,
        outcomes,
        {
            "run_id": run_id,
            "run_build_id": run_build_id,
            "case_id": _shared(connection, cases, digest_of(case), case),
            "identity": identity_digest(record),
            "position": position,
            **_outcome_values(record.outcome),
        },
    )
    for table, rows in _details(record.outcome):
        connection.execute(insert(table), [{"outcome_id": outcome_id, **row} for row in rows])
    return outcome_id


def _shared(connection: Connection, table: Table, digest: str, values: _Values) -> int:
    # Writers take turns, so nobody adds the same row between these two steps.
    found = connection.scalar(select(table.c.id).where(table.c.digest == digest))
    if found is not None:
        return int(found)
    return insert_row(connection, table, {"digest": digest, **values})


def _identity_values(record: Record) -> _Values:
    return {
        "label": list(record.label),
        "language": record.language.value,
        "runtime": record.runtime.value,
        "autograd": record.autograd.value,
        "num_threads": record.num_threads,
    }


def _case_values(record: Record) -> _Values:
    return {
        **_identity_values(record),
        "definition_hash": record.definition_hash,
        "stmt": record.stmt,
        "setup": record.setup,
        "global_setup": record.global_setup,
        # Where there is none, the digest is the one that it had before there was any.
        **({"metadata": record.metadata} if record.metadata else {}),
    }


def _outcome_values(outcome: Outcome) -> _Values:
    counted, used = outcome.instructions, outcome.resources
    return {
        "status": outcome.status.value,
        "duration_s": outcome.duration_s,
        "attempts": outcome.attempts,
        "resources": None if used is None else attrs.asdict(used),
        **{name: None if counted is None else getattr(counted, name) for name in _COUNTS},
    }


def _details(outcome: Outcome) -> Iterator[tuple[Table, list[_Values]]]:
    """The rows of other tables that belong to an outcome."""
    counted, timed, failure = outcome.instructions, outcome.times, outcome.failure
    if counted is not None and counted.windows:
        yield (
            windows,
            [
                {"position": place, **attrs.asdict(window)}
                for place, window in enumerate(counted.windows)
            ],
        )
    if timed is not None:
        columns = ("median_s", "iqr_s", "values_s", "runs")
        yield times, [{name: getattr(timed, name) for name in columns}]
    if outcome.functions is not None:
        yield function_costs, [{"costs": functions_to_json(outcome.functions)}]
    if outcome.output is not None:
        yield outputs, [{"output": _CONVERTER.unstructure(outcome.output)}]
    if failure is not None:
        yield failures, [{**attrs.asdict(failure), "kind": failure.kind.value}]


# Reading


@attrs.frozen
class Later:
    """What reads the large parts of an outcome, by its number, when they are asked for."""

    costs: Callable[[int], Costs]
    seconds: Callable[[int], Seconds]


def read_records(connection: Connection, run_id: int, later: Later) -> tuple[Record, ...]:
    """The records of a run in their order, without their large parts.

    Raises:
        ValueError, KeyError, TypeError, zlib.error, cattrs.BaseValidationError: the rows hold what
            this program does not write.
    """
    joined = outcomes.join(cases).join(run_builds)
    for table in (times, outputs, failures, function_costs):
        joined = joined.outerjoin(table)
    short: list[Any] = [column for column in times.c if column is not times.c.values_s]
    # Of the costs per function only whether there are any: they are most of what there is to read.
    details: list[Any] = [*short, outputs, failures, function_costs.c.outcome_id]
    rows = connection.execute(
        select(outcomes, cases, run_builds.c.name, *details)
        .select_from(joined)
        .where(outcomes.c.run_id == run_id)
        .order_by(outcomes.c.position, outcomes.c.id)
    ).mappings()
    stretches = _read_windows(connection, run_id)
    return tuple(_record(row, tuple(stretches[row[outcomes.c.id]]), later) for row in rows)


def _read_windows(connection: Connection, run_id: int) -> dict[int, list[Window]]:
    names = [field.name for field in attrs.fields(Window)]
    query = (
        select(windows.c.outcome_id, *(windows.c[name] for name in names))
        .join(outcomes)
        .where(outcomes.c.run_id == run_id)
        .order_by(windows.c.outcome_id, windows.c.position)
    )
    found: dict[int, list[Window]] = defaultdict(list)
    for outcome_id, *values in connection.execute(query):
        found[outcome_id].append(Window(*values))
    return found


def _record(row: RowMapping, stretches: tuple[Window, ...], later: Later) -> Record:
    return Record(
        label=tuple(row[cases.c.label]),
        language=Language(row[cases.c.language]),
        runtime=RuntimeMode(row[cases.c.runtime]),
        autograd=AutogradMode(row[cases.c.autograd]),
        num_threads=row[cases.c.num_threads],
        definition_hash=row[cases.c.definition_hash],
        build=row[run_builds.c.name],
        stmt=row[cases.c.stmt],
        setup=row[cases.c.setup],
        global_setup=row[cases.c.global_setup],
        outcome=_outcome(row, stretches, later),
        metadata=row[cases.c.metadata] or {},
    )


def _outcome(row: RowMapping, stretches: tuple[Window, ...], later: Later) -> Outcome:
    has_costs = row[function_costs.c.outcome_id] is not None
    output = row[outputs.c.output]
    used = row[outcomes.c.resources]
    return Outcome(
        Status(row[outcomes.c.status]),
        instructions=_instructions(row, stretches),
        times=_times(row, later),
        functions=later.costs(row[outcomes.c.id]) if has_costs else None,
        output=None if output is None else _CONVERTER.structure(output, Output),
        failure=_failure(row),
        duration_s=row[outcomes.c.duration_s],
        attempts=row[outcomes.c.attempts],
        resources=None if used is None else Resources(**used),
    )


def _instructions(row: RowMapping, stretches: tuple[Window, ...]) -> Instructions | None:
    if row[outcomes.c.per_run] is None:
        return None
    counts = {name: row[outcomes.c[name]] for name in _COUNTS}
    counts["varying"] = tuple(counts["varying"])
    return Instructions(windows=stretches, **counts)


def _times(row: RowMapping, later: Later) -> Times | None:
    if row[times.c.outcome_id] is None:
        return None
    return Times(
        row[times.c.median_s],
        row[times.c.iqr_s],
        later.seconds(row[outcomes.c.id]),
        row[times.c.runs],
    )


def _failure(row: RowMapping) -> Failure | None:
    if row[failures.c.outcome_id] is None:
        return None
    return Failure(
        FailureKind(row[failures.c.kind]),
        row[failures.c.message],
        row[failures.c.code],
        row[failures.c.place],
        row[failures.c.output],
    )
