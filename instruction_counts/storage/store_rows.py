"""Builds and records as rows of the store's tables, and back."""

from __future__ import annotations

import hashlib
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias

import attrs
import cattrs
from sqlalchemy import ColumnElement, Connection, Join, RowMapping, Table, insert, select

from core.facts import expected_values, subject_values
from core.labels import mode_of
from core.types import AutogradMode, CaseKey, Language, RuntimeMode
from instruction_counts.domain.executed import Executed, ExecutedDigests
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.metrics import Amounts
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import (
    Details,
    Failure,
    FailureKind,
    FunctionCosts,
    Instructions,
    Outcome,
    Output,
    Status,
    Times,
    Window,
)
from instruction_counts.domain.records import Record
from instruction_counts.storage import checksums
from instruction_counts.storage.conversion import expected_from_values, subject_from_values
from instruction_counts.storage.executed_rows import executed_from_json, executed_to_json
from instruction_counts.storage.function_rows import functions_from_json, functions_to_json
from instruction_counts.storage.store_tables import (
    COUNTS,
    builds,
    cases,
    executed,
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

_OF_ROW = ("id", "digest")
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


def key_digest(key: CaseKey) -> str:
    """A short name for what a case is called, whichever build it ran on."""
    return digest_of(*key.as_values.values())


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
    own = {"identity": key_digest(record.key), **_outcome_values(record.outcome)}
    details = list(_details(record.outcome))
    digest = digest_of(case)
    outcome_id = insert_row(
        connection,
        outcomes,
        {
            "run_id": run_id,
            "run_build_id": run_build_id,
            "case_id": _shared(connection, cases, digest, case),
            "position": position,
            "noise": None if record.noise is None else attrs.asdict(record.noise),
            "checksums": checksums.of_outcome(own, record.build, digest, details),
            **own,
        },
    )
    for table, rows in details:
        connection.execute(insert(table), [{"outcome_id": outcome_id, **row} for row in rows])
    return outcome_id


def _shared(connection: Connection, table: Table, digest: str, values: _Values) -> int:
    # Writers take turns, so nobody adds the same row between these two steps.
    found = connection.scalar(select(table.c.id).where(table.c.digest == digest))
    if found is not None:
        return int(found)
    return insert_row(connection, table, {"digest": digest, **values})


def _case_values(record: Record) -> _Values:
    return {
        **record.key.as_values,
        "definition_hash": record.definition_hash,
        "stmt": record.stmt,
        "setup": record.setup,
        "global_setup": record.global_setup,
        "metadata": record.metadata,
        "subject": subject_values(record.subject),
        "expected": expected_values(record.expected),
    }


def _outcome_values(outcome: Outcome) -> _Values:
    counted = outcome.instructions
    return {
        "status": outcome.status.value,
        "duration_s": outcome.duration_s,
        "attempts": outcome.attempts,
        "metrics": dict(outcome.metrics),
        "resources_reason": outcome.resources_reason,
        "skipped_by_budget_s": outcome.skipped_by_budget_s,
        "executed_digests": outcome.executed_digests and attrs.asdict(outcome.executed_digests),
        **{name: None if counted is None else getattr(counted, name) for name in COUNTS},
    }


def _details(outcome: Outcome) -> Iterator[tuple[Table, list[_Values]]]:
    """The rows of other tables that belong to an outcome."""
    counted, timed, failure = outcome.instructions, outcome.times, outcome.failure
    if counted is not None and counted.windows:
        yield (
            windows,
            [
                {"position": place, **attrs.asdict(window), "metrics": dict(window.metrics)}
                for place, window in enumerate(counted.windows)
            ],
        )
    if timed is not None:
        summary = attrs.asdict(timed)
        yield times, [{"values_s": summary.pop("values_s"), "summary": summary}]
    if outcome.functions is not None:
        yield function_costs, [{"costs": functions_to_json(outcome.functions)}]
    if outcome.executed is not None:
        yield executed, [{"rows": executed_to_json(outcome.executed)}]
    if outcome.output is not None:
        yield outputs, [{"output": _CONVERTER.unstructure(outcome.output)}]
    if failure is not None:
        yield failures, [{**attrs.asdict(failure), "kind": failure.kind.value}]


# Reading


def read_records(
    connection: Connection, run_id: int, *, details: bool, outcome_id: int | None = None
) -> tuple[Record, ...]:
    """The records of a run in their order; without ``details`` they are ``stored_in`` it.

    With ``outcome_id`` it is that one alone.

    Raises:
        ValueError, KeyError, TypeError, zlib.error, cattrs.BaseValidationError: the rows hold what
            this program does not write.
    """
    mine = outcomes.c.run_id == run_id if outcome_id is None else outcomes.c.id == outcome_id
    joined = outcomes.join(cases).join(run_builds)
    for table in (times, outputs, failures, function_costs, executed):
        joined = joined.outerjoin(table)
    columns: list[Any] = [times.c.outcome_id, times.c.summary, outputs, failures]
    # Costs per function are most of what there is to read.
    columns += [times.c.values_s, function_costs, executed] if details else []
    rows = connection.execute(
        select(outcomes, cases, run_builds.c.name, *columns)
        .select_from(joined)
        .where(mine)
        .order_by(outcomes.c.position, outcomes.c.id)
    ).mappings()
    stretches = _read_windows(connection, mine)
    found = (_verified(row, tuple(stretches[row[outcomes.c.id]]), details=details) for row in rows)
    if not details:
        return tuple(attrs.evolve(record, stored_in=run_id) for record in found)
    return tuple(found)


def read_details(connection: Connection, run_id: int, build: str, key: CaseKey) -> Details | None:
    """What is large in an outcome; None where the run has no such case.

    Raises:
        ValueError, KeyError, TypeError, zlib.error: as `read_records`.
    """
    row = (
        connection.execute(
            select(outcomes.c.checksums, times.c.values_s, function_costs.c.costs, executed.c.rows)
            .select_from(_joined_details())
            .where(outcomes.c.run_id == run_id, run_builds.c.name == build)
            .where(outcomes.c.identity == key_digest(key))
        )
        .mappings()
        .one_or_none()
    )
    if row is None:
        return None
    checksums.require_details(row)
    return Details(_functions(row), tuple(row[times.c.values_s] or ()), _executed(row))


def _joined_details() -> Join:
    joined = outcomes.join(run_builds)
    for table in (times, function_costs, executed):
        joined = joined.outerjoin(table)
    return joined


def _read_windows(
    connection: Connection, of_outcomes: ColumnElement[bool]
) -> dict[int, list[Window]]:
    names = [field.name for field in attrs.fields(Window)]
    query = (
        select(windows.c.outcome_id, *(windows.c[name] for name in names))
        .join(outcomes)
        .where(of_outcomes)
        .order_by(windows.c.outcome_id, windows.c.position)
    )
    found: dict[int, list[Window]] = defaultdict(list)
    for outcome_id, runs, instructions, amounts in connection.execute(query):
        found[outcome_id].append(Window(runs, instructions, Amounts(amounts)))
    return found


def _verified(row: RowMapping, stretches: tuple[Window, ...], *, details: bool) -> Record:
    record = _record(row, stretches)
    try:
        case = {column.name: row[column] for column in cases.columns if column.name not in _OF_ROW}
        if digest_of(case) != row[cases.c.digest]:
            raise ValueError("its code is not what was stored")
        checksums.require(row, stretches, details=details)
    except ValueError as error:
        raise ValueError(f"{record.key.title} on {record.build}: {error}") from error
    return record


def _record(row: RowMapping, stretches: tuple[Window, ...]) -> Record:
    noise = row[outcomes.c.noise]
    return Record(
        label=tuple(row[cases.c.label]),
        language=mode_of(Language, row[cases.c.language]),
        runtime=mode_of(RuntimeMode, row[cases.c.runtime]),
        autograd=mode_of(AutogradMode, row[cases.c.autograd]),
        num_threads=row[cases.c.num_threads],
        definition_hash=row[cases.c.definition_hash],
        build=row[run_builds.c.name],
        stmt=row[cases.c.stmt],
        setup=row[cases.c.setup],
        global_setup=row[cases.c.global_setup],
        outcome=_outcome(row, stretches),
        metadata=row[cases.c.metadata] or {},
        subject=subject_from_values(row[cases.c.subject]),
        expected=expected_from_values(row[cases.c.expected]),
        noise=None if noise is None else Noise(**noise),
    )


def _outcome(row: RowMapping, stretches: tuple[Window, ...]) -> Outcome:
    output = row[outputs.c.output]
    digests = row[outcomes.c.executed_digests]
    return Outcome(
        Status(row[outcomes.c.status]),
        instructions=_instructions(row, stretches),
        times=_times(row),
        functions=_functions(row),
        output=None if output is None else _CONVERTER.structure(output, Output),
        executed=_executed(row),
        executed_digests=None if digests is None else ExecutedDigests(**digests),
        failure=_failure(row),
        duration_s=row[outcomes.c.duration_s],
        attempts=row[outcomes.c.attempts],
        metrics=Amounts(row[outcomes.c.metrics]),
        resources_reason=row[outcomes.c.resources_reason],
        skipped_by_budget_s=_budget(row[outcomes.c.skipped_by_budget_s]),
    )


def _budget(value: float) -> float | None:
    return None if math.isnan(value) else value


def _executed(row: RowMapping) -> Executed | None:
    rows = row.get(executed.c.rows)
    return None if rows is None else executed_from_json(rows)


def _functions(row: RowMapping) -> FunctionCosts | None:
    costs = row.get(function_costs.c.costs)
    return None if costs is None else functions_from_json(costs)


def _instructions(row: RowMapping, stretches: tuple[Window, ...]) -> Instructions | None:
    if row[outcomes.c.per_run] is None:
        return None
    counts = {name: row[outcomes.c[name]] for name in COUNTS}
    counts["varying"] = tuple(counts["varying"])
    return Instructions(windows=stretches, **counts)


def _times(row: RowMapping) -> Times | None:
    if row[times.c.outcome_id] is None:
        return None
    summary = dict(row[times.c.summary])
    bounds = summary.pop("median_bounds_s")
    values = tuple(row.get(times.c.values_s) or ())
    return Times(**summary, median_bounds_s=bounds and tuple(bounds), values_s=values)


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
