"""Metrics of operators, on a terminal and in Markdown."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from instruction_counts.domain.records import Run
from instruction_counts.report import operators as report
from instruction_counts.report.formats import markdown
from tests.analysis.operators.made import OTHER, PYTHON_BOTH, RUN, USED, record
from tests.fakes import make_run


def lines_of(run: Run) -> list[str]:
    """The table as it is on 80 columns."""
    stream = io.StringIO()
    Console(file=stream, width=80, color_system=None).print(report.operators_table(run))
    return [line.rstrip() for line in stream.getvalue().splitlines()]


def test_the_table_fits_on_eighty_columns() -> None:
    """Also with large numbers."""
    large = record(123_456_789, 0.123, used=USED)
    assert max(map(len, lines_of(make_run(large, PYTHON_BOTH)))) <= 80


def test_the_table_has_a_line_for_each_language() -> None:
    """Forward, backward, memory, and what is achieved."""
    python, cpp = (line.split() for line in lines_of(RUN)[-2:])
    assert python == ["Python", "1,000", "2", "us", "~4,000", "7", "us", "2", "KiB", "4", "5"]
    assert cpp == ["C++", "800", "1", "us", "8", "10"]


@pytest.mark.parametrize(
    ("number", "expected"),
    [(0, "0 B"), (999, "999 B"), (1024, "1 KiB"), (65_536, "64 KiB"), (3 << 30, "3 GiB")],
)
def test_sizes_are_shown_in_powers_of_1024(number: int, expected: str) -> None:
    """With three digits."""
    assert report.size(number) == expected


def test_a_markdown_file_has_every_metric_of_operators() -> None:
    """Below the table of all cases, with what the machine can do."""
    text = markdown.run(RUN)
    (row,) = (line for line in text.splitlines() if line.startswith("| torch.add / typical · Py"))
    cells = [cell.strip() for cell in row.strip("|").split("|")]
    assert cells[1:] == [
        *("1,000", "\\~4,000", *["2 us"] * 6, "7 us"),
        *("4 KiB", "2 KiB", "4", "5"),
    ]
    assert "4 GB/s copied, 50 GF/s" in text


def test_a_run_without_operators_has_no_such_part() -> None:
    """Its Markdown is what it always was."""
    assert "Operators" not in markdown.run(make_run(OTHER))
