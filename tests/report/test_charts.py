"""What pages draw adds up to what tables say."""

from __future__ import annotations

import attrs

from instruction_counts.domain.outcomes import Times
from instruction_counts.report import charts
from instruction_counts.report.case_details import details
from instruction_counts.report.document import (
    Block,
    Cell,
    ChartKind,
    Column,
    Row,
    Table,
    Unit,
)
from tests.builders import counted, difference
from tests.fakes import make_record

RECORDS = [make_record("a", name, outcome=counted(count)) for count, name in enumerate("wxyz", 1)]


def test_each_label_is_as_large_as_what_is_below_it() -> None:
    """So that nothing of a run is missing in its map."""
    (chart,) = charts.of_run(RECORDS)
    (series,) = chart.series
    sizes = dict(zip(series.labels, series.y, strict=True))
    below = dict.fromkeys(sizes, 0)
    for name, parent in zip(series.labels, series.x, strict=True):
        if parent:
            below[str(parent)] += int(sizes[name])

    assert (ChartKind.TREEMAP, 10) == (chart.kind, sizes["all"])
    assert [] == [name for name, sum_ in below.items() if sum_ not in {0, sizes[name]}]


def test_few_cases_are_not_drawn() -> None:
    """They are read faster than looked at."""
    assert () == charts.of_run(RECORDS[:3])


def test_counts_are_drawn_against_times_where_there_are_any() -> None:
    """By language."""
    timed = [
        attrs.evolve(record, outcome=attrs.evolve(record.outcome, times=Times.of((1e-6,), 1)))
        for record in RECORDS
    ]
    chart = charts.of_run([*timed, *RECORDS])[1]

    assert [("Python", (1e-6,) * 4, (1, 2, 3, 4))] == [
        (series.name, series.x, series.y) for series in chart.series
    ]


def test_rows_of_sums_have_no_share() -> None:
    """They are the whole."""
    columns = Column("type", ""), Column("instructions", "instructions", Unit.COUNT)
    rows = tuple(Row((Cell(name), Cell(size))) for name, size in (("a", 3), ("b", 4)))
    table = Table("m", "m", columns, rows)
    (chart,) = charts.of_shares([table, attrs.evolve(table, columns=columns[:1])], "instructions")

    assert [("all", "a", "b"), (7, 3, 4)] == [chart.series[0].labels, chart.series[0].y]


def test_a_compared_case_unfolds_to_figures_and_code() -> None:
    """Both codes, where they differ."""
    same = difference(5, 6)
    assert same.new is not None
    edited = attrs.evolve(same, new=attrs.evolve(same.new, stmt="x - y"))
    titles = [
        [part.title for part in details(found) if isinstance(part, Block) and "Code" in part.title]
        for found in (same, edited)
    ]

    assert [["Code"], ["Code in base", "Code in new"]] == titles
    assert "figures" == next(part.name for part in details(same) if isinstance(part, Table))
