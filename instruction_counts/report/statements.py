"""Statements as a document: one with where it spends most, several beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from instruction_counts.analysis.attribution.names import short
from instruction_counts.analysis.verdicts.comparison import MeasuredStatement
from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.domain.metrics import ALLOCATIONS, BYTECODES, OPERATOR_CALLS
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Record, Run
from instruction_counts.report.causes import texts, why
from instruction_counts.report.document import Cell, Column, Document, Line, Role, Row, Table, Unit
from instruction_counts.report.format import count_cell, plural, relative, spread_cell
from instruction_counts.report.run import doubts, legend

FORMAT_VERSION = 1
"""Of the JSON of statements."""

_METRICS = {ALLOCATIONS: "allocs", BYTECODES: "bytecodes", OPERATOR_CALLS: "operators"}
"""What is shown beside instructions and times, where it is known, with its heading."""
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
        answer=[Line(f"torch {build.torch} · Python {build.python} · {run.engine}", Role.DIM)],
        sections=sections,
        notes=[*([Line(legend(run.cases), Role.DIM)] if sections else []), *doubts(run)],
        data=_values(statements, run),
    )


def _table(statements: Sequence[MeasuredStatement]) -> Table:
    columns = [
        Column("statement", ""),
        Column("instructions", "instr", Unit.COUNT),
        Column("change", "change", Unit.CHANGE),
        Column("relative", "%", Unit.RELATIVE),
        *(Column(metric.name, heading, Unit.COUNT) for metric, heading in _METRICS.items()),
        Column("median_s", "time", Unit.SECONDS),
        Column("iqr", "", Unit.RELATIVE_SPREAD),
    ]
    names = _names([found.record for found in statements])
    rows = (_row(name, found) for name, found in zip(names, statements, strict=True))
    return Table("statements", "", columns, rows).without_empty_columns()


def _row(name: str, found: MeasuredStatement) -> Row:
    outcome, difference = found.record.outcome, found.difference
    is_ok = outcome.status is Status.OK
    change = None if difference is None else difference.change
    share = None if difference is None else difference.relative
    cells = (
        name,
        count_cell(outcome.instructions) if is_ok else Cell(outcome.status.value, Role.BAD),
        Cell("" if change is None else change, Role.of_change(change)),
        Cell("" if share is None else share, Role.of_change(change)),
        *(Cell(outcome.metrics.get(metric.name, ""), Role.DIM) for metric in _METRICS),
        outcome.times.median_s if outcome.times else "",
        spread_cell(outcome.times),
    )
    return Row(cells, below=why(_causes(found)))


def _causes(found: MeasuredStatement) -> Iterator[str]:
    """Why a statement costs more or less than the first."""
    if found.difference is None:
        return
    yield from texts(found.difference.causes)
    time = found.difference.time
    if time is not None and time.significant:
        yield f"time {relative(time.ratio - 1)}"


def _places(found: MeasuredStatement) -> Table:
    """The functions that spend most."""
    counted = found.record.outcome.instructions
    total = counted.per_run if counted is not None else 0
    rows = (
        Row(
            [
                short(place.key.name, _LONGEST_NAME),
                round(place.new or 0),
                float((place.new or 0) / total) if total else "",
                Cell(place.key.layer.value, Role.DIM),
            ],
            indent=2,
        )
        for place in found.places
    )
    columns = (
        Column("function", ""),
        Column("instructions", "instructions", Unit.COUNT),
        Column("share", "share", Unit.SHARE),
        Column("layer", ""),
    )
    return Table("most_in", "most in", columns, rows)


def _names(records: Sequence[Record]) -> list[str]:
    """What the statements are called, with the modes in which they differ."""
    modes = [
        [*(mode.value for mode in record.key.modes), plural(record.num_threads, "thread")]
        for record in records
    ]
    varying = [
        place for place, values in enumerate(zip(*modes, strict=True)) if len(set(values)) > 1
    ]
    return [
        " · ".join([" / ".join(record.label), *(mine[place] for place in varying)])
        for record, mine in zip(records, modes, strict=True)
    ]


def _values(statements: Sequence[MeasuredStatement], run: Run) -> dict[str, Any]:
    return {
        "time_version": FORMAT_VERSION,
        "tool_version": run.tool_version,
        "engine": run.engine,
        "builds": {
            name: {
                "fingerprint": attrs.asdict(build),
                "changed_files": (changed := run.changed_files.get(name)) and attrs.asdict(changed),
            }
            for name, build in run.builds.items()
        },
        "statements": [_statement(found) for found in statements],
    }


def _statement(found: MeasuredStatement) -> dict[str, Any]:
    record, outcome = found.record, found.record.outcome
    counted, failure, times = outcome.instructions, outcome.failure, outcome.times
    return {
        **record.key.as_values,
        "stmt": record.stmt,
        "setup": record.setup,
        "global_setup": record.global_setup,
        "status": outcome.status.value,
        "failure": failure and {**attrs.asdict(failure), "kind": failure.kind.value},
        "instructions": counted and counted.per_run,
        "exact": counted and counted.exact,
        "spread": counted and counted.spread,
        "times": times and attrs.asdict(times, filter=lambda field, _: field.name != "values_s"),
        "metrics": dict(outcome.metrics),
        "most_in": [
            {
                "function": place.key.name,
                "library": place.key.library,
                "layer": place.key.layer.value,
                "instructions": place.new or 0,
            }
            for place in found.places
        ],
        "difference": found.difference and _difference(found.difference),
    }


def _difference(difference: Difference) -> dict[str, Any]:
    """To the first statement."""
    time = difference.time
    return {
        "change": difference.change,
        "relative": difference.relative,
        "reason": difference.reason.value,
        "noise": difference.noise,
        "time_ratio": time and time.ratio,
        "time_is_significant": time and time.significant,
        "causes": list(texts(difference.causes)),
    }
