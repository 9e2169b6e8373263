"""An operator over many sizes, as people read it."""

from __future__ import annotations

import io
import re

import pytest
from rich.console import Console

from core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.analysis.operators.complexity import fit
from instruction_counts.report.sizes import complexity, plot, sizes_table
from tests.fakes import failed, make_record

MODE = (Language.PYTHON, RuntimeMode.EAGER, AutogradMode.FORWARD, 1)
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
    text = re.sub(r" \(off by .*?%\)", "", complexity(MODE, fit(counts)).plain)

    assert f"Python · Eager · Forward: {expected}" == text


def test_sizes_go_down_and_modes_across() -> None:
    """What was not measured has failed."""
    stream = io.StringIO()
    records = {MODE: {16: make_record(), 64: make_record(outcome=failed())}}
    Console(file=stream, width=80).print(sizes_table([16, 64, 256], records))

    assert [["16", "8,899", "2.2", "us"], ["64", "failed", "–"], ["256", "failed", "–"]] == [
        line.split() for line in stream.getvalue().splitlines()[3:]
    ]


def test_a_plot_has_a_title_and_a_curve_for_each_mode() -> None:
    """On axes that are logarithmic."""
    counts = {size: 10_000 + 2 * size for size in SIZES}
    text = "\n".join(line.plain for line in plot("torch.add", {MODE: counts}, {MODE: fit(counts)}))

    assert "torch.add: instructions" in text
    assert "Python · Eager · Forward" in text
