"""Charts for pages: what tables say, to look at."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from instruction_counts.core.labels import Label
from instruction_counts.domain.records import Record, StoredCount
from instruction_counts.history.series import Series as CountSeries
from instruction_counts.history.series import count_of
from instruction_counts.report.document import Chart, ChartKind, Role, Series, Table

_FEWEST = 4
"""Fewer cases are read faster than looked at."""


def of_run(records: Sequence[Record]) -> tuple[Chart, ...]:
    """Labels by what they cost, and counts against times."""
    counted = [record for record in records if record.outcome.instructions is not None]
    if len(counted) < _FEWEST:
        return ()
    timed = [record for record in counted if record.outcome.times is not None]
    return (_labels(counted), *([_against_time(timed)] if timed else []))


def _labels(records: Iterable[Record]) -> Chart:
    sizes: dict[tuple[str, ...], int] = defaultdict(int)
    for record in records:
        path = ("all", *_path(record))
        for length in range(1, len(path) + 1):
            sizes[path[:length]] += _count(record)
    names = tuple(" / ".join(path) for path in sizes)
    parents = tuple(" / ".join(path[:-1]) for path in sizes)
    series = Series("", parents, tuple(sizes.values()), names)
    return Chart("Instructions by label", ChartKind.TREEMAP, (series,), folded=True)


def _path(record: Record) -> Label:
    modes = [mode.value for mode in record.key.modes if mode.value]
    threads = [f"{record.num_threads} threads"] if record.num_threads > 1 else []
    return (*record.label, " · ".join([record.build, *modes, *threads]))


def _against_time(records: Iterable[Record]) -> Chart:
    by_language: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        by_language[record.language.value].append(record)
    return Chart(
        "Instructions against time",
        ChartKind.POINTS,
        tuple(
            Series(
                language,
                tuple(_median_s(record) for record in found),
                tuple(map(_count, found)),
                tuple(record.key.title for record in found),
            )
            for language, found in by_language.items()
        ),
        "median time (s)",
        "instructions per iteration",
        logarithmic=True,
        folded=True,
    )


def _count(record: Record) -> int:
    assert record.outcome.instructions is not None, "only counted ones are drawn"
    return record.outcome.instructions.per_run


def _median_s(record: Record) -> float:
    assert record.outcome.times is not None, "only timed ones are drawn"
    return record.outcome.times.median_s


def of_history(series: CountSeries) -> Chart | None:
    """The counts of a case in the order of its runs, and its levels; None without any."""
    lines: list[Series] = []
    for number, segment in enumerate(series.segments, 1):
        several = f" {number}" if len(series.segments) > 1 else ""
        titles = tuple(map(_point, segment.points))
        counts = tuple(count_of(point).per_run for point in segment.points)
        lines.append(Series(f"counts{several}", titles, counts, titles))
        for level in segment.levels:
            within = titles[level.start : level.end]
            lines.append(Series("level", within, (level.count,) * len(within), within))
    return (
        Chart(series.key.title, ChartKind.LINES, tuple(lines), "run", "instructions per iteration")
        if lines
        else None
    )


def _point(point: StoredCount) -> str:
    return f"run {point.run_id} · {point.build} · torch {point.fingerprint.torch}"


def of_shares(tables: Iterable[Table], key: str) -> tuple[Chart, ...]:
    """The parts in the column ``key`` of each table that has it, without rows of sums."""
    return tuple(
        _shares(table, place)
        for table in tables
        for place, column in enumerate(table.columns)
        if column.key == key
    )


def _shares(table: Table, place: int) -> Chart:
    sizes = {
        str(row.cells[0].value): round(value)
        for row in table.rows
        if row.role is Role.PLAIN and isinstance(value := row.cells[place].value, int | float)
    }
    names, parents = ("all", *sizes), ("", *["all"] * len(sizes))
    series = Series("", parents, (sum(sizes.values()), *sizes.values()), names)
    return Chart(f"{table.title}: instructions", ChartKind.TREEMAP, (series,), folded=True)
