"""Statements as a document: one with where it spends most, several beside each other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs

from instruction_counts.analysis.attribution.names import short
from instruction_counts.analysis.verdicts.comparison import MeasuredStatement
from instruction_counts.domain.metrics import ALLOCATIONS, BYTECODES, OPERATOR_CALLS
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Record, Run
from instruction_counts.report.causes import texts, why
from instruction_counts.report.document import Cell, Column, Document, Line, Role, Row, Table, Unit
from instruction_counts.report.format import plural, relative, relative_spread
from instruction_counts.report.run import LEGEND, count_cell, doubts

FORMAT_VERSION = 1
"""Of the JSON of statements."""

_METRICS = {ALLOCATIONS: "allocs", BYTECODES: "bytecodes", OPERATOR_CALLS: "operators"}
"""What is shown beside instructions and times, where it is known, with its heading."""
_LONGEST_NAME = 48


def statements_document(statements: Sequence[MeasuredStatement], run: Run) -> Document:
    """A line for each statement, and what it costs more than the first; ``run`` has all."""
    (build,) = run.builds.values()
    sections = [_table(statements)] if _any_ok(statements) else []
    if len(statements) == 1 and statements[0].places:
        sections.append(_places(statements[0]))
    return Document(
        "statements",
        answer=(Line(f"torch {build.torch} · Python {build.python} · {run.engine}", Role.DIM),),
        sections=tuple(sections),
        notes=(*([Line(LEGEND, Role.DIM)] if sections else []), *doubts(run)),
        data=_values(statements, run),
    )


def _any_ok(statements: Sequence[MeasuredStatement]) -> bool:
    return any(found.record.outcome.status is Status.OK for found in statements)


def _table(statements: Sequence[MeasuredStatement]) -> Table:
    records = [found.record for found in statements]
    outcomes = [record.outcome for record in records]
    known = [
        metric for metric in _METRICS if any(metric.name in outcome.metrics for outcome in outcomes)
    ]
    columns = [
        Column("statement", ""),
        Column("instructions", "instr", Unit.COUNT),
        Column("change", "change", Unit.CHANGE),
        Column("relative", "%", Unit.RELATIVE),
        *(Column(metric.name, _METRICS[metric], Unit.COUNT) for metric in known),
        Column("median_s", "time", Unit.SECONDS),
        Column("iqr", "", Unit.RELATIVE_SPREAD),
    ]
    rows = []
    for name, found in zip(_names(records), statements, strict=True):
        outcome, difference = found.record.outcome, found.difference
        times, spread = outcome.times, relative_spread(outcome.times)
        change = None if difference is None else difference.change
        share = None if difference is None else difference.relative
        is_ok = outcome.status is Status.OK
        cells = (
            Cell(name),
            count_cell(outcome) if is_ok else Cell(outcome.status.value, Role.BAD),
            Cell("" if change is None else change, _role(change)),
            Cell("" if share is None else share, _role(change)),
            *(Cell(outcome.metrics.get(metric.name, ""), Role.DIM) for metric in known),
            Cell("" if times is None else times.median_s),
            Cell("" if spread is None else spread, Role.DIM),
        )
        rows.append(Row(cells, below=why(_causes(found))))
    kept = [
        place
        for place in range(len(columns))
        if any(row.cells[place].value not in ("", None) for row in rows)
    ]
    return Table(
        "statements",
        "",
        tuple(columns[place] for place in kept),
        tuple(attrs.evolve(row, cells=tuple(row.cells[place] for place in kept)) for row in rows),
    )


def _role(change: int | None) -> Role:
    return Role.BAD if change and change > 0 else Role.GOOD if change else Role.PLAIN


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
    rows = [
        Row(
            (
                Cell(short(place.key.name, _LONGEST_NAME)),
                Cell(round(place.new or 0)),
                Cell(float((place.new or 0) / total) if total else ""),
                Cell(place.key.layer.value, Role.DIM),
            ),
            indent=2,
        )
        for place in found.places
    ]
    columns = (
        Column("function", ""),
        Column("instructions", "instructions", Unit.COUNT),
        Column("share", "share", Unit.SHARE),
        Column("layer", ""),
    )
    return Table("most_in", "most in", columns, tuple(rows))


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


# ---------------------------------------------------------------------------------------- JSON


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
        "difference": found.difference and _difference(found),
    }


def _difference(found: MeasuredStatement) -> dict[str, Any]:
    """To the first statement."""
    difference = found.difference
    assert difference is not None, "asked of statements after the first"
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
