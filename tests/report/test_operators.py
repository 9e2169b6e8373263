"""Operators as documents: their list, what they do not cover, their costs, many sizes."""

import re

import pytest

from instruction_counts.analysis.operators import fit
from instruction_counts.report import operators as report
from instruction_counts.report.document import Document
from instruction_counts.report.plots import Curve
from instruction_counts.session.operators import MeasuredSizes
from instruction_counts.sources.operators.catalogue import Coverage, PublicOperator
from instruction_counts.sources.operators.entries import OperatorEntry, Tensor
from tests.analysis.made_operators import OTHER, RUN
from tests.builders import counted
from tests.fakes import failed, make_record, make_run
from tests.report.rendered import screen


def test_the_list_says_what_an_operator_has_and_has_not() -> None:
    """Its shapes, where these are not all, what it is not measured in, and why if no entry does."""
    shapes = Tensor({"small": (1,), "typical": (2,)})
    entries = [
        OperatorEntry("other", {"x": shapes}, cpp=False, autograd=False, name="torch.f"),
        *(OperatorEntry("other", name=name) for name in ("torch.g", "torch.h")),
    ]
    found = report.listed(entries, {"torch.h": "torch has no aten::h"})
    (table,) = found.tables

    assert ["x", "small, typical"] == [cell.value for cell in table.rows[0].cells[2:4]]
    assert ("C++, backward", "backward", "C++, backward") == table.column("without")
    assert ["torch.h without C++: torch has no aten::h"] == [note.text for note in found.notes]


def public(name: str, uses: int, namespace: str = "torch.fft") -> PublicOperator:
    """A public operator."""
    return PublicOperator(f"{namespace}.{name}", namespace, f"fft_{name}", uses)


UNCOVERED = (public("hfft", 20), public("ihfft", 3), public("hfft2", 0))
COVERAGE = Coverage((public("fft", 1200), public("sum", 30, "torch"), *UNCOVERED), UNCOVERED)


def test_coverage_counts_by_category_and_names_what_is_not_covered() -> None:
    """With the native name, the first on a screen; and in one sentence."""
    found = report.coverage(COVERAGE, "nightly", 2)
    categories, table = found.tables

    assert [["torch", 1, 1, 1.0], ["torch.fft", 4, 1, 1200 / 1223]] == [
        [cell.value for cell in row.cells] for row in categories.rows
    ]
    assert categories.total is not None
    assert ["all", 5, 2] == [cell.value for cell in categories.total.cells[:3]]
    assert "Covered 2 of 5 operators, 98.2% by calls" == found.answer[0].text

    assert ["torch.fft.hfft", "torch.fft", "fft_hfft", 20] == [
        cell.value for cell in table.rows[0].cells
    ]
    assert (3, 2) == (len(table.rows), table.shown)


def test_the_table_has_a_row_for_each_language() -> None:
    """Forward, backward, memory, and what is achieved; none where there are no operators."""
    title, groups, *lines = screen(Document("operators", sections=[report.measured(RUN)]))
    python, cpp = (line.split() for line in lines[-2:])

    assert ["Operators", "forward", "backward"] == [title, *groups.split()]
    assert python == ["Python", "1,000", "2", "us", "~4,000", "7", "us", "2", "KiB", "4", "5"]
    assert cpp == ["C++", "800", "1", "us", "8", "10"]
    assert () == report.measured(make_run(OTHER)).rows


SIZES = [4**power for power in range(2, 9)]


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        (
            {size: 10_000 + 2 * size for size in SIZES},
            "10,000 + 2·N instructions; work outweighs overhead from N = 5,000",
        ),
        (dict.fromkeys(SIZES, 700), "700 instructions whatever the size"),
        ({16: 1}, "too few sizes were counted for a fit; four are needed"),
    ],
)
def test_a_fit_is_one_sentence(counts: dict[int, int], expected: str) -> None:
    """After the mode that it is of; how far it is off is a matter of rounding here."""
    sentence = report.complexity(Curve("Python", counts, fit(counts)))

    assert f"Python: {expected}" == re.sub(r" \(off by .*?%\)", "", sentence)


def test_sizes_go_down_and_modes_across_above_a_plot() -> None:
    """What was not counted has failed, and says why."""
    outcomes = {size: counted(10_000 + 2 * size) for size in SIZES}
    outcomes[64] = failed(message="it broke")
    records = [make_record(f"N={size}", outcome=outcome) for size, outcome in outcomes.items()]
    size_of = {(f"N={size}",): size for size in outcomes}
    entry = OperatorEntry("arithmetic", name="torch.add")
    found = report.sizes(MeasuredSizes(entry, tuple(SIZES), size_of, make_run(*records)))
    lines = screen(found)

    assert {("16", "10,032"), ("64", "failed")} <= {tuple(line.split()) for line in lines}
    assert any("torch.add: instructions" in line for line in lines)
    assert "2·N instructions" in found.answer[0].text
    assert "it broke" in found.notes[0].text
