"""Models for people: what they were taken apart into, and what their layers add up to."""

import shlex
from collections.abc import Iterator, Sequence

from instruction_counts.analysis.models import NOTHING, Amount, MeasuredModel
from instruction_counts.domain.records import Record
from instruction_counts.report import format as fmt
from instruction_counts.report.document import (
    Cell,
    Column,
    Document,
    Line,
    Role,
    Row,
    Table,
    Unit,
    Value,
    treemap,
)
from instruction_counts.report.renderers.json import rows_of
from instruction_counts.session.models import Generated
from instruction_counts.sources.models.layers import ModelTrace

_NAMED = 5
_GENERATED = (
    Column("model", "model"),
    Column("calls", "calls", Unit.COUNT),
    Column("unique", "unique layers", Unit.COUNT),
    Column("shared", "shared with others", Unit.COUNT),
)


def generated(found: Generated) -> Document:
    """What models were taken apart into, and what is not in the file as it is in the model."""

    def row(name: str, traces: Sequence[ModelTrace]) -> Row:
        names = {trace.source.name for trace in traces}
        users = [{use.model for use in uses} for uses in found.layers.values()]
        mine = [models for models in users if names & models]
        shared = sum(len(models) > 1 for models in mine)
        return Row([name, sum(len(trace.calls) for trace in traces), len(mine), shared], name)

    rows = [row(trace.source.name, [trace]) for trace in found.traces]
    total = row("all", found.traces) if len(rows) > 1 else None
    return Document(
        "generated",
        answer=[f"Saved: {found.output}"],
        sections=[Table("models", "", _GENERATED, rows, total=total)],
        notes=_remarks(found.traces),
        next_command=shlex.join(["run", "--definitions", str(found.output), *found.build_option]),
    )


def _remarks(traces: Sequence[ModelTrace]) -> Iterator[str]:
    for trace in traces:
        name = trace.source.name
        for kind, reason in trace.taken_apart.items():
            yield f"{name}: {kind} is written as its operators: {reason}"
        for what, times in trace.left_out.items():
            yield f"{name}: left out, {fmt.plural(times, 'call')}: {what}"


_COLUMNS = (
    Column("type", "layer type"),
    Column("calls", "calls", Unit.COUNT),
    Column("unique", "unique", Unit.COUNT),
    Column("instructions", "instructions", Unit.COUNT, bars=True),
    Column("share", "share", Unit.SHARE),
    Column("time_s", "time", Unit.SECONDS),
    Column("time_share", "share", Unit.SHARE),
)


def predicted(predictions: Sequence[MeasuredModel]) -> Document:
    """The layers of models by type, their sums, and the models as they were measured."""
    tables = [Table(found.model, found.model, _COLUMNS, _rows(found)) for found in predictions]
    charts = (
        treemap(
            f"{found.model}: instructions",
            (((kind.type,), kind.cost.instructions or 0) for kind in found.types),
        )
        for found in predictions
        if found.total.instructions
    )
    records = (Row([table.name, *row.cells]) for table in tables for row in table.rows)
    shown = [table.without_empty_columns() for table in tables]
    notes = [note for found in predictions for note in _notes(found)]
    return Document(
        "prediction",
        sections=[*shown, *charts],
        notes=notes,
        data={
            "kind": "prediction",
            "models": {table.name: rows_of(table) for table in shown},
            "notes": [note.text for note in notes],
        },
        records=Table("records", "", [Column("model", "model"), *_COLUMNS], records),
    )


def _rows(prediction: MeasuredModel) -> Iterator[Row]:
    def row(name: str, amount: Amount, *counts: Value, role: Role = Role.STRONG) -> Row:
        total = prediction.total
        values = (
            *(name, *counts),
            Cell(amount.instructions, approximate=not amount.exact),
            _share(amount.instructions, total.instructions),
            *(amount.time_s, _share(amount.time_s, total.time_s)),
        )
        return Row(values, name, role=role)

    for found in prediction.types:
        yield row(found.type, found.cost, found.calls, found.unique, role=Role.PLAIN)
    unique = sum(found.unique for found in prediction.types)
    yield row("sum of layers", prediction.sum_of_layers, prediction.calls, unique)
    if prediction.whole != NOTHING:
        yield row("whole, as measured", prediction.whole, "", "")
        yield row("unexplained", prediction.unexplained, "", "")


def _notes(prediction: MeasuredModel) -> Iterator[Line]:
    model, whole = prediction.model, prediction.whole_record
    if prediction.whole == NOTHING:
        failure = whole and whole.outcome.failure
        yield Line(f"{model}: not measured as a whole{f': {failure.summary}' if failure else ''}")
    if prediction.calls < prediction.calls_known:
        count = f"{prediction.calls:,} of {fmt.plural(prediction.calls_known, 'call')} of layers"
        yield Line(f"{model}: {count} were measured; the others are not in the sum")
    if prediction.forward_only:
        unique = fmt.plural(sum(found.unique for found in prediction.types), "layer")
        count = f"{len(prediction.forward_only):,} of {unique}"
        titles = _titles(prediction.forward_only)
        yield Line(f"{model}: forward alone, {count} without backward: {titles}")
    if prediction.missing:
        what = f"{len(prediction.missing)} not measured: {_titles(prediction.missing)}"
        yield Line(f"{model}: not in the sum, {what}")


def _titles(records: Sequence[Record]) -> str:
    titles = ", ".join(" / ".join(record.label[1:]) for record in records[:_NAMED])
    return titles if len(records) <= _NAMED else f"{titles}, …"


def _share(part: float | None, total: float | None) -> float | None:
    return None if part is None or not total else part / total
