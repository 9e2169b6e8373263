"""What unfolds below a compared case on a page: figures of both sides, all causes, and its code."""

from __future__ import annotations

from collections.abc import Iterator

from instruction_counts.analysis.verdicts.difference import Difference
from instruction_counts.domain.metrics import metrics
from instruction_counts.domain.outcomes import Instructions, Times
from instruction_counts.domain.records import Record
from instruction_counts.report import causes
from instruction_counts.report.document import Block, Cell, Column, Line, Row, Section, Table
from instruction_counts.report.format import ABSENT, duration

_COLUMNS = (Column("fact", ""), Column("base", "base"), Column("new", "new"))


def details(difference: Difference) -> tuple[Section, ...]:
    """All that is known of a case in a comparison, without what has to be read from elsewhere."""
    return tuple(_sections(difference))


def _sections(difference: Difference) -> Iterator[Section]:
    rows = tuple(_rows(difference))
    if rows:
        yield Table("figures", "", _COLUMNS, rows)
    found = causes.texts(difference.causes)
    if found:
        yield Block("Causes", tuple(map(Line, found)))
    base, new = (_code(record) for record in (difference.base, difference.new))
    if base and new and base != new:
        yield Block("Code in base", base, preformatted=True)
        yield Block("Code in new", new, preformatted=True)
    elif base or new:
        yield Block("Code", new or base, preformatted=True)


def _rows(difference: Difference) -> Iterator[Row]:
    outcomes = [
        None if record is None else record.outcome for record in (difference.base, difference.new)
    ]
    counted = [None if outcome is None else outcome.instructions for outcome in outcomes]
    if any(counted):
        yield _row("windows (instructions / iterations)", *map(_windows, counted))
    if difference.layouts is not None:
        layouts = difference.layouts.base, difference.layouts.new
        yield _row(
            "in other memory layouts",
            *(" · ".join(f"{count:,}" for count in counts) for counts in layouts),
        )
    timed = [None if outcome is None else outcome.times for outcome in outcomes]
    if any(timed):
        yield _row("median time (95% interval)", *map(_time, timed))
    for metric in metrics():
        amounts = [
            None if outcome is None else outcome.metrics.get(metric.name) for outcome in outcomes
        ]
        if any(amount is not None for amount in amounts):
            yield _row(metric.title, *(metric.text(amount) or ABSENT for amount in amounts))


def _row(name: str, base: str, new: str) -> Row:
    return Row((Cell(name), Cell(base), Cell(new)), name)


def _windows(counted: Instructions | None) -> str:
    if counted is None:
        return ABSENT
    return " · ".join(f"{window.instructions:,} / {window.runs}" for window in counted.windows)


def _time(times: Times | None) -> str:
    if times is None:
        return ABSENT
    if times.median_bounds_s is None:
        return duration(times.median_s)
    low, high = times.median_bounds_s
    return f"{duration(times.median_s)} ({duration(low)} to {duration(high)})"


def _code(record: Record | None) -> tuple[Line, ...]:
    if record is None:
        return ()
    parts = (("global setup", record.global_setup), ("setup", record.setup), ("", record.stmt))
    lines: list[Line] = []
    for name, text in parts:
        if text:
            lines += [Line(f"# {name}")] if name else [Line("# statement")]
            lines += map(Line, text.splitlines())
    return tuple(lines)
