"""Metrics: forward and backward apart, memory and bandwidth, on screen and in files."""

from __future__ import annotations

import io
from typing import Any

import attrs
import pytest
from rich.console import Console

from core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.analysis.operators.metrics import as_dict, metrics_of, without_metrics
from instruction_counts.domain.metrics import Amounts
from instruction_counts.domain.outcomes import (
    Instructions,
    Machine,
    Outcome,
    Status,
    Times,
)
from instruction_counts.domain.records import Record, Run
from instruction_counts.report import operators as report
from instruction_counts.report.formats import markdown
from tests.fakes import make_record, make_run

BOTH = AutogradMode.FORWARD_BACKWARD
USED = Amounts({"tensor_bytes": 4096, "peak_bytes": 2048, "flops": 10_000, "moved_bytes": 8_000})
MACHINE = Machine(copy_bytes_per_s=4_000_000_000, matmul_flops_per_s=50_000_000_000)


def record(count: int, time_s: float, *, exact: bool = True, **fields: Any) -> Record:
    """A measured case of torch.add."""
    outcome = Outcome(
        Status.OK,
        instructions=Instructions(count, exact=exact, windows=()),
        times=Times.of([time_s], 10),
        metrics=(used := fields.pop("used", Amounts())),
        resources_reason="" if used else None,
    )
    made = make_record("arithmetic", "torch.add", "typical", outcome=outcome)
    metadata = {"operator": "torch.add", "dtype": "float32", "seed": 0, "shapes": {"input": [2]}}
    fields = {"runtime": RuntimeMode.EAGER, "autograd": AutogradMode.FORWARD, **fields}
    return attrs.evolve(made, metadata=metadata, **fields)


PYTHON = record(1_000, 2e-6, used=USED)
PYTHON_BOTH = record(5_000, 9e-6, exact=False, autograd=BOTH)
CPP = record(800, 1e-6, language=Language.CPP)
OTHER = make_record("no operator", outcome=Outcome(Status.OK))
RUN = attrs.evolve(make_run(PYTHON, PYTHON_BOTH, CPP, OTHER), machine=MACHINE)


def test_backward_is_the_difference_of_two_measured_cases() -> None:
    """It cannot run alone; what of either is not exact makes it so, too."""
    (metrics,) = metrics_of([PYTHON, PYTHON_BOTH])
    assert 4_000 == metrics.backward_instructions
    assert metrics.backward_exact is False
    assert metrics.backward_s == pytest.approx(7e-6)


def test_without_a_backward_case_there_is_no_backward() -> None:
    """Nothing is invented."""
    (metrics,) = metrics_of([CPP])
    assert metrics.backward_instructions is None
    assert metrics.backward_s is None


def test_backward_alone_has_no_metrics() -> None:
    """It holds the forward pass, of which nothing is known."""
    assert [] == list(metrics_of([PYTHON_BOTH]))


def test_what_has_no_metrics_is_known() -> None:
    """So that a report shows it elsewhere, and nothing is measured in vain."""
    alone = attrs.evolve(PYTHON_BOTH, language=Language.CPP)

    assert (alone, OTHER) == without_metrics([PYTHON, PYTHON_BOTH, alone, OTHER])


def test_only_operators_have_metrics() -> None:
    """Each language is a line of its own."""
    assert [one.language for one in metrics_of(RUN.cases)] == [Language.PYTHON, Language.CPP]


def test_what_is_moved_and_computed_holds_for_every_language() -> None:
    """It is known from Python; each language has its own time."""
    python, cpp = metrics_of(RUN.cases)
    assert python.bytes_per_s == pytest.approx(8_000 / 2e-6)
    assert cpp.bytes_per_s == pytest.approx(8_000 / 1e-6)
    assert cpp.flops_per_s == pytest.approx(10_000 / 1e-6)


def test_a_dictionary_has_every_metric_with_its_unit() -> None:
    """Beside what the machine can do."""
    found = as_dict(next(metrics_of(RUN.cases)), MACHINE)
    assert found["instructions"] == 1_000
    assert found["backward_instructions"] == 4_000
    assert {found[f"{name}_s"] for name in ("mean", "p50", "p90", "p99", "min", "max")} == {2e-6}
    assert 4096 == found["allocated_bytes"]
    assert 2048 == found["peak_bytes"]
    assert 10_000 == found["flops"]
    assert found["machine_bytes_per_s"] == 4_000_000_000


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
def test_sizes_are_told_in_powers_of_1024(number: int, expected: str) -> None:
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
