"""How well figures follow measured time, as the benchmark says it."""

import pytest

from benchmarks.calibration import document_of, groups_of
from instruction_counts.domain.outcomes import EstimatedCycles
from instruction_counts.domain.records import Record
from tests.builders import counted
from tests.fakes import OK, make_record, make_run


def record(group: str, number: int) -> Record:
    """A case whose cycles follow its time, and whose instructions go the other way."""
    cycles = EstimatedCycles("a", (1000 * number,) * 3)
    outcome = counted(6000 - 1000 * number, times_s=(1e-6 * number,), cycles=cycles)
    return make_record(group, str(number), outcome=outcome)


RECORDS = [*(record("Views", number) for number in range(1, 6)), record("MatMul", 1)]


def test_a_figure_that_follows_the_time_has_rank_one_and_no_spread() -> None:
    """And one that goes the other way -1."""
    (views, _) = groups_of(RECORDS)

    ranks = [views.rank_correlation(of) for of in ("cycles", "instructions")]
    assert [1.0, -1.0] == pytest.approx(ranks)
    assert 1.0 == round(views.spread("cycles"), 9)
    assert views.spread("instructions") > 5


def test_groups_of_few_cases_are_only_in_the_whole() -> None:
    """As are cases without one of the figures in none."""
    groups = [*groups_of([*RECORDS, make_record("Views", "7", outcome=OK)])]

    assert [("Views", 5), ("all", 6)] == [(group.name, len(group.points)) for group in groups]


def test_each_group_has_a_line_and_a_colour() -> None:
    """The whole has a line alone."""
    document = document_of(make_run(*RECORDS))
    table, *charts = document.sections

    assert ["Views", "all"] == [row.cells[0].value for row in document.tables[0].rows]
    assert table is document.tables[0]
    assert 2 == len(charts)
