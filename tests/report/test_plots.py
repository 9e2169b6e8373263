"""Plots in plain text."""

import pytest

from instruction_counts.analysis.operators import fit
from instruction_counts.history.steps import Level
from instruction_counts.report.plots import Curve, curves, levels

COUNTS = [1000, 1000, 9000, 1000, 1200, 1200]
LINES = [Level(0, 4, 1000, ()), Level(4, 6, 1200, ())]


def test_counts_lie_on_their_levels_and_outliers_at_the_edge_of_the_scale() -> None:
    """A dot, a cross and a line; ticks at the ends and in the middle."""
    expected = [
        " 1,200 ┤          ×       •───•",
        *["       │"] * 3,
        " 1,100 ┤",
        *["       │"] * 3,
        " 1,000 ┤  •───•───────•",
    ]

    assert expected == list(levels(COUNTS, {2}, LINES))


@pytest.mark.parametrize("count", [0, 1, 10**12])
def test_counts_at_one_level_are_one_line(count: int) -> None:
    """A scale would have nothing to show; it fits its counts, however large they are."""
    level = Level(0, 2, count, ())

    assert [f"{count:>6,} ┤  •───•"] == list(levels([count, count], (), [level]))


def test_curves_show_their_counts_fits_and_titles() -> None:
    """On two logarithmic axes, with a marker for each; nothing counted is no plot."""
    counts = {2**power: 500 + 3 * 2**power for power in range(8)}
    found = [Curve("Python", counts, fit(counts)), Curve("C++", {64: 50})]
    text = "\n".join(curves("add: instructions", found))

    for part in ("add: instructions", "●● Python", "○○ C++", "··●··"):
        assert part in text
    assert [] == list(curves("add", []))
