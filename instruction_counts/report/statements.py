"""Statements as a document: one with where it spends most, several beside each other."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import attrs

from instruction_counts.analysis.attribution.names import short
from instruction_counts.analysis.verdicts.comparison import MeasuredStatement
from instruction_counts.domain.metrics import (
    ALLOCATIONS,
    BYTECODES,
    CYCLES,
    LAUNCHES,
    OPERATOR_CALLS,
    SYNCHRONISATIONS,
)
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Record, Run
from instruction_counts.report.cases import about_cuda
from instruction_counts.report.causes import texts, why
from instruction_counts.report.comparison import case_values, change_cell
from instruction_counts.report.document import (
    Cell,
    Column,
    Document,
    Line,
    Role,
    Row,
    Table,
    Unit,
    table_of,
)
from instruction_counts.report.format import plural, relative
from instruction_counts.report.run import doubts, figure_cells, figure_columns, legend

FORMAT_VERSION = 1
"""Of the JSON of statements."""

_METRICS = (ALLOCATIONS, BYTECODES, OPERATOR_CALLS, LAUNCHES, SYNCHRONISATIONS, CYCLES)
"""What is shown beside instructions and times, where it is known."""
_LONGEST_NAME = 48


def statements_document(statements: Sequence[MeasuredStatement], run: Run) -> Document:
    """A line for each statement, and what it costs more than the first; ``run`` has all."""
    (build,) = run.builds.values()
    is_any_ok = any(found.record.outcome.status is Status.OK for found in statements)
    sections = [_table(statements)] if is_any_ok else []
    if len(statements) == 1 and statements[0].places:
        sections.append(_places(statements[0]))
    return Document(
        "statements",
        answer=[
            Line(f"torch {build.torch} · Python {build.python} · {run.engine}", Role.DIM),
            *about_cuda(run.cases),
        ],
        sections=sections,
        notes=[*([Line(legend(run.cases), Role.DIM)] if sections else []), *doubts(run)],
        data={
            "time_version": FORMAT_VERSION,
            "tool_version": run.tool_version,
            "engine": run.engine,
            "builds": {
                name: {"fingerprint": build, "changed_files": run.changed_files.get(name)}
                for name, build in run.builds.items()
            },
            "statements": list(map(_statement, statements)),
        },
    )


def _table(statements: Sequence[MeasuredStatement]) -> Table:
    instructions, *others = figure_columns(_METRICS)
    columns = [
        *(Column("statement", ""), instructions),
        *(Column("change", "change", Unit.CHANGE), Column("relative", "%", Unit.RELATIVE)),
        *others,
    ]
    names = _names([found.record for found in statements])
    return Table("statements", "", columns, map(_row, names, statements)).without_empty_columns()


def _row(name: str, found: MeasuredStatement) -> Row:
    difference = found.difference
    count, *others = figure_cells(found.record, _METRICS)
    changes = (getattr(difference, of, None) for of in ("change", "relative"))
    change = [change_cell(amount, difference) for amount in changes]
    said = [*texts(difference.causes)] if difference else []
    if difference and (time := difference.time) and time.significant:
        said.append(f"time {relative(time.relative)}")
    return Row([Cell(name), count, *change, *others], below=why(said))


def _places(found: MeasuredStatement) -> Table:
    counted = found.record.outcome.instructions
    total = (counted and counted.per_run) or math.inf
    columns = [
        Column("function", "", of=lambda place: short(place.key.name, _LONGEST_NAME)),
        Column("instructions", "instructions", Unit.COUNT, of=lambda place: round(place.delta)),
        Column("share", "share", Unit.SHARE, of=lambda place: float(place.delta / total)),
        Column("layer", "", of=lambda place: Cell(place.key.layer.value, Role.DIM)),
    ]
    return table_of("most_in", "most in", columns, found.places, indent=2)


def _names(records: Sequence[Record]) -> list[str]:
    """What the statements are called, with the modes in which they differ."""
    modes = [
        [*(mode.value for mode in record.key.modes), plural(record.num_threads, "thread")]
        for record in records
    ]
    varying = [place for place, values in enumerate(zip(*modes, strict=True)) if len({*values}) > 1]
    return [
        " · ".join([" / ".join(record.label), *(mine[place] for place in varying)])
        for record, mine in zip(records, modes, strict=True)
    ]


def _statement(found: MeasuredStatement) -> dict[str, Any]:
    record, outcome = found.record, found.record.outcome
    counted, times = outcome.instructions, outcome.times
    return {
        **record.key.as_values,
        **{name: getattr(record, name) for name in ("stmt", "setup", "global_setup")},
        "status": outcome.status,
        "failure": outcome.failure,
        "instructions": counted and counted.per_run,
        "exact": counted and counted.exact,
        "spread": counted and counted.spread,
        "times": times and attrs.asdict(times, filter=lambda field, _: field.name != "values_s"),
        "metrics": outcome.metrics,
        "most_in": [
            {"function": key.name, "library": key.library, "layer": key.layer, "instructions": cost}
            for key, cost in ((place.key, place.delta) for place in found.places)
        ],
        "difference": found.difference and case_values(found.difference),
    }
