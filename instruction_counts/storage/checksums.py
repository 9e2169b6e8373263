"""Checksums of rows: SQLite notices damage only where it breaks the structure of its own pages.

They are in the column ``checksums`` of an outcome, by what they are of. What is compressed has one
of zlib's; there, the key alone says that there is such a row.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from sqlalchemy import RowMapping, Table

from instruction_counts.domain.outcomes import Window
from instruction_counts.storage.store_tables import (
    COUNTS,
    cases,
    executed,
    failures,
    function_costs,
    json_of,
    outcomes,
    outputs,
    run_builds,
    times,
    windows,
)

_Rows: TypeAlias = Sequence[Mapping[str, Any]]

_SECONDS = ("duration_s", "skipped_by_budget_s")
_OTHERS = (
    "identity",
    "status",
    "attempts",
    *COUNTS,
    "metrics",
    "resources_reason",
    "executed_digests",
)
"""The columns of an outcome that never change; its place and its noise do."""

_FAILURE = ("kind", "message", "code", "place", "output")
_WINDOW = ("runs", "instructions", "metrics")
_PACKED = {function_costs: "costs", executed: "executed", outputs: "output"}
_LARGE = frozenset({"values", "costs", "executed"})
"""What is read only where details are asked for."""
_COMPRESSED = 0

OWN_COLUMNS = tuple(outcomes.c[name] for name in (*_OTHERS, *_SECONDS))
"""What has to be read for `require_own`, besides the checksums, the build and the case."""


def of_outcome(
    own: Mapping[str, Any], build: str, case_digest: str, details: Iterable[tuple[Table, _Rows]]
) -> dict[str, int]:
    """The checksums of the columns of an outcome, and of its rows in other tables."""
    found = {"outcome": _of_own(own, build, case_digest)}
    for table, rows in details:
        found.update(_of_rows(table, rows))
    return found


def require(row: RowMapping, stretches: Sequence[Window], *, details: bool) -> None:
    """Refuse an outcome that is not what was stored; ``stretches`` are its windows.

    Raises:
        ValueError: it is not, or a row of another table is missing.
    """
    rows: list[tuple[Table, _Rows]] = []
    if stretches:
        read = [
            (stretch.runs, stretch.instructions, dict(stretch.metrics)) for stretch in stretches
        ]
        rows.append((windows, [dict(zip(_WINDOW, values, strict=True)) for values in read]))
    for table in (times, failures, outputs, *((function_costs, executed) if details else ())):
        if row[table.c.outcome_id] is not None:
            columns = {column.name: row[column] for column in table.columns if column in row}
            rows.append((table, [columns]))
    own = {column.name: row[column] for column in OWN_COLUMNS}
    found = of_outcome(own, row[run_builds.c.name], row[cases.c.digest], rows)
    _require_same(row, found, lambda name: details or name not in _LARGE)


def require_own(row: RowMapping) -> None:
    """Refuse an outcome whose own columns are not what was stored.

    Raises:
        ValueError: they are not.
    """
    own = {column.name: row[column] for column in OWN_COLUMNS}
    found = {"outcome": _of_own(own, row[run_builds.c.name], row[cases.c.digest])}
    _require_same(row, found, frozenset(found).__contains__)


def require_details(row: RowMapping) -> None:
    """Refuse times, costs per function and what was executed that are not what was stored.

    Raises:
        ValueError: they are not.
    """
    found = {}
    if row[times.c.values_s] is not None:
        found["values"] = _of_value(row[times.c.values_s])
    if row[function_costs.c.costs] is not None:
        found[_PACKED[function_costs]] = _COMPRESSED
    if row[executed.c.rows] is not None:
        found[_PACKED[executed]] = _COMPRESSED
    _require_same(row, found, _LARGE.__contains__)


def _require_same(
    row: RowMapping, found: Mapping[str, int], is_asked: Callable[[str], bool]
) -> None:
    stored = row[outcomes.c.checksums]
    known = stored if isinstance(stored, dict) else {}
    expected = {name: value for name, value in known.items() if is_asked(name)}
    if found != expected or "outcome" not in known:
        names = {name for name in {*found, *expected} if found.get(name) != expected.get(name)}
        raise ValueError(f"it is not what was stored ({', '.join(sorted(names))})")


def _of_own(own: Mapping[str, Any], build: str, case_digest: str) -> int:
    seconds = (_as_read(own[name]) for name in _SECONDS)
    return _of_value([build, case_digest, *(own[name] for name in _OTHERS), *seconds])


def _as_read(seconds: float | None) -> float | None:
    # It can be given as a whole number, and there is no negative zero in SQLite.
    return None if seconds is None or math.isnan(seconds) else float(seconds) + 0.0


def _of_rows(table: Table, rows: _Rows) -> Iterator[tuple[str, int]]:
    if table is windows:
        yield "windows", _of_value([[row[name] for name in _WINDOW] for row in rows])
        return
    (row,) = rows
    if table is times:
        yield "times", _of_value(row["summary"])
        if "values_s" in row:
            yield "values", _of_value(row["values_s"])
    elif table is failures:
        yield "failure", _of_value([row[name] for name in _FAILURE])
    else:
        yield _PACKED[table], _COMPRESSED


def _of_value(value: Any) -> int:
    return zlib.crc32(json_of(value).encode("utf-8", "surrogatepass"))
