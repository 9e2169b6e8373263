"""Models for people: what they were taken apart into, and what their layers add up to."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from instruction_counts.analysis.models import Amount, Prediction
from instruction_counts.domain.records import Record
from instruction_counts.report import format as fmt
from instruction_counts.report.document import (
    Block,
    Cell,
    Column,
    Document,
    Line,
    Role,
    Row,
    Section,
    Table,
    Unit,
)
from instruction_counts.session.models import Generated
from instruction_counts.sources.models.layers import ModelTrace

_NAMED = 5


def generated(found: Generated) -> Document:
    """What models were taken apart into, and what is not in the file as it is in the model."""
    columns = (
        Column("model", "model"),
        Column("calls", "calls", Unit.COUNT),
        Column("unique", "unique layers", Unit.COUNT),
        Column("shared", "shared with others", Unit.COUNT),
    )

    def row(name: str, traces: Sequence[ModelTrace]) -> Row:
        names = {trace.source.name for trace in traces}
        mine = [layer for layer in found.layers if names & {*layer.models}]
        shared = sum(len(layer.models) > 1 for layer in mine)
        calls = sum(len(trace.calls) for trace in traces)
        return Row((Cell(name), Cell(calls), Cell(len(mine)), Cell(shared)), name)

    rows = tuple(row(trace.source.name, [trace]) for trace in found.traces)
    total = row("all", found.traces) if len(rows) > 1 else None
    return Document(
        "generated",
        answer=(Line(f"Saved: {found.output}"),),
        sections=(Table("models", "", columns, rows, total=total),),
        notes=tuple(map(Line, _remarks(found.traces))),
        next_command=f"run --definitions {found.output}",
    )


def _remarks(traces: Sequence[ModelTrace]) -> Iterator[str]:
    """What is not in the file as it is in the model, with the reason."""
    for trace in traces:
        name = trace.source.name
        for kind, reason in trace.taken_apart.items():
            yield f"{name}: {kind} is written as its operators: {reason}"
        for what, times in trace.left_out.items():
            yield f"{name}: left out, {times} calls: {what}"


def predicted(predictions: Sequence[Prediction]) -> Document:
    """The layers of models by type, their sums, and the models as they were measured."""
    sections = [section for found in predictions for section in _sections(found)]
    return Document("prediction", sections=tuple(sections))


def _sections(prediction: Prediction) -> Iterator[Section]:
    has_counts = prediction.layers.instructions is not None
    has_times = prediction.layers.time_s is not None
    columns = [
        Column("type", "layer type"),
        Column("calls", "calls", Unit.COUNT),
        Column("unique", "unique", Unit.COUNT),
    ]
    if has_counts:
        columns.append(Column("instructions", "instructions", Unit.COUNT, bars=True))
        columns.append(Column("share", "share", Unit.SHARE))
    if has_times:
        columns.append(Column("time_s", "time", Unit.SECONDS))
        columns.append(Column("time_share", "share", Unit.SHARE))

    def row(name: str, amount: Amount, calls: int | str, unique: int | str, role: Role) -> Row:
        cells = [Cell(name), Cell(calls), Cell(unique)]
        total = prediction.total
        if has_counts:
            counts = amount.instructions, _share(amount.instructions, total.instructions)
            cells += map(Cell, counts)
        if has_times:
            cells += map(Cell, (amount.time_s, _share(amount.time_s, total.time_s)))
        return Row(tuple(cells), name, role=role)

    unique = sum(found.unique for found in prediction.types)
    rows = [
        row(found.type, found.cost, found.calls, found.unique, Role.PLAIN)
        for found in prediction.types
    ]
    rows.append(row("sum of layers", prediction.layers, prediction.calls, unique, Role.STRONG))
    if prediction.whole != Amount(None, None):
        rows.append(row("whole, as measured", prediction.whole, "", "", Role.STRONG))
        rows.append(row("unexplained", prediction.unexplained, "", "", Role.STRONG))
    yield Table(prediction.model, prediction.model, tuple(columns), tuple(rows))
    remarks = list(_missing(prediction, unique))
    if remarks:
        yield Block("", tuple(remarks))


def _missing(prediction: Prediction, unique: int) -> Iterator[Line]:
    """What the sum does not hold."""
    if prediction.beyond:
        parts = " · ".join(f"{count:+,} {layer.value}" for layer, count in prediction.beyond)
        yield Line(f"unexplained, by where it is spent: {parts}")
    if prediction.forward_only:
        count = f"{len(prediction.forward_only):,} of {fmt.plural(unique, 'layer')}"
        yield Line(f"forward alone, {count} without backward: {_titles(prediction.forward_only)}")
    if prediction.missing:
        number, titles = len(prediction.missing), _titles(prediction.missing)
        yield Line(f"not in the sum, {number} not measured: {titles}", Role.WARNING)


def _titles(records: Sequence[Record]) -> str:
    titles = ", ".join(" / ".join(record.label[1:]) for record in records[:_NAMED])
    return titles if len(records) <= _NAMED else f"{titles}, …"


def _share(part: float | None, total: float | None) -> float | None:
    return None if part is None or not total else part / total
