"""Models for people: what they were taken apart into, and what their layers add up to."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import Any

from rich.console import Console, RenderableType
from rich.containers import Lines
from rich.table import Table
from rich.text import Text

from instruction_counts.analysis.models.prediction import Amount, Prediction
from instruction_counts.domain.records import Record
from instruction_counts.report import format as fmt
from instruction_counts.sources.models.layers import ModelTrace
from instruction_counts.sources.models.unique import UniqueLayer

_BAR = 10
_EIGHTHS = " ▏▎▍▌▋▊▉"
_NAMED = 5
_WHOLE = "whole, as measured"


class _Name(Text):
    """A name of code: too long for its column, it breaks after an underscore."""

    def wrap(self, console: Console, width: int, **_: Any) -> Lines:
        """Its lines."""
        del console
        swapped = str.maketrans("_-", "-_")  # lines of prose break after hyphens
        lines = textwrap.wrap(self.plain.translate(swapped), width)
        return Lines([Text(line.translate(swapped)) for line in lines])


def generated(traces: Sequence[ModelTrace], layers: Sequence[UniqueLayer]) -> Table:
    """A line for each model, and one for all of them."""
    table = Table(box=None, padding=(0, 2, 0, 0), pad_edge=False)
    table.add_column("model", overflow="fold")
    for heading in ("calls", "unique layers", "shared with others"):
        table.add_column(heading, justify="right", no_wrap=True)
    for trace in traces:
        name = trace.source.name
        mine = [layer for layer in layers if name in layer.models]
        shared = sum(len(layer.models) > 1 for layer in mine)
        table.add_row(Text(name), f"{len(trace.calls):,}", f"{len(mine):,}", f"{shared:,}")
    if len(traces) > 1:
        calls = sum(len(trace.calls) for trace in traces)
        shared = sum(len(layer.models) > 1 for layer in layers)
        table.add_row("all", f"{calls:,}", f"{len(layers):,}", f"{shared:,}")
    return table


def remarks(traces: Sequence[ModelTrace]) -> Iterator[str]:
    """What is not in the file as it is in the model, with the reason."""
    for trace in traces:
        name = trace.source.name
        for kind, reason in trace.taken_apart.items():
            yield f"{name}: {kind} is written as its operators: {reason}"
        for what, times in trace.left_out.items():
            yield f"{name}: left out, {times} calls: {what}"


def predicted(prediction: Prediction) -> Iterator[RenderableType]:
    """The layers of a model by type, their sum, and the model as it was measured."""
    yield Text(prediction.model, style="bold")
    has_counts = prediction.layers.instructions is not None
    has_times = prediction.layers.time_s is not None
    table = Table(box=None, padding=(0, 1, 0, 0), pad_edge=False)
    table.add_column("layer type", overflow="fold", min_width=len(_WHOLE))
    for heading in ("calls", "unique"):
        table.add_column(heading, justify="right", no_wrap=True)
    if has_counts:
        table.add_column("instructions", justify="right", no_wrap=True)
        table.add_column("share", justify="right", no_wrap=True)
        table.add_column("", no_wrap=True, style="cyan")
    if has_times:
        table.add_column("time", justify="right", no_wrap=True)
        table.add_column("share", justify="right", no_wrap=True)
    largest = max((row.cost.instructions or 0 for row in prediction.types), default=0)
    for row in prediction.types:
        counted = [*_counted(prediction, row.cost), _bar(row.cost.instructions or 0, largest)]
        cells = [
            *(counted if has_counts else []),
            *(_timed(prediction, row.cost) if has_times else []),
        ]
        table.add_row(_Name(row.type), f"{row.calls:,}", f"{row.unique:,}", *cells)
    unique = sum(row.unique for row in prediction.types)
    sums = [("sum of layers", prediction.layers, f"{prediction.calls:,}", f"{unique:,}")]
    if prediction.whole != Amount(None, None):
        sums += [
            (_WHOLE, prediction.whole, "", ""),
            ("unexplained", prediction.unexplained, "", ""),
        ]
    table.add_section()
    for name, amount, calls, kept in sums:
        cells = [
            *((*_counted(prediction, amount), "") if has_counts else ()),
            *(_timed(prediction, amount) if has_times else ()),
        ]
        table.add_row(name, calls, kept, *cells, style="bold")
    yield table
    if prediction.beyond:
        parts = " · ".join(f"{count:+,} {layer.value}" for layer, count in prediction.beyond)
        yield Text(f"unexplained, by where it is spent: {parts}")
    if prediction.forward_only:
        count = f"{len(prediction.forward_only):,} of {unique:,} layers"
        yield Text(f"forward alone, {count} without backward: {_titles(prediction.forward_only)}")
    if prediction.missing:
        titles = _titles(prediction.missing)
        yield Text(f"not in the sum, {len(prediction.missing)} not measured: {titles}", "yellow")


def _titles(records: Sequence[Record]) -> str:
    titles = ", ".join(" / ".join(record.label[1:]) for record in records[:_NAMED])
    return titles if len(records) <= _NAMED else f"{titles}, …"


def _counted(prediction: Prediction, amount: Amount) -> tuple[str, str]:
    count = amount.instructions
    return ("–" if count is None else f"{count:,}"), _share(count, prediction.total.instructions)


def _timed(prediction: Prediction, amount: Amount) -> tuple[str, str]:
    seconds = amount.time_s
    if seconds is None:
        return "–", ""
    text = fmt.duration(seconds) if seconds >= 0 else f"-{fmt.duration(-seconds)}"
    return text, _share(seconds, prediction.total.time_s)


def _share(part: float | None, total: float | None) -> str:
    return "" if part is None or not total else f"{part / total:.1%}"


def _bar(value: int, largest: int) -> str:
    eighths = round(value * _BAR * 8 / largest) if largest else 0
    return "█" * (eighths // 8) + _EIGHTHS[eighths % 8]
