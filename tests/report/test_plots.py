"""Plots in plain text."""

from __future__ import annotations

import pytest

from instruction_counts.analysis.operators import fit
from instruction_counts.report.plots import Curve, Line, curves, levels

COUNTS = [1000, 1000, 9000, 1000, 1200, 1200]
LINES = [Line(0, 3, 1000), Line(4, 5, 1200)]


def test_counts_lie_on_their_levels_and_outliers_at_the_edge_of_the_scale() -> None:
    """A dot, a cross and a line; ticks at the ends and in the middle."""
    expected = [
        " 1,200 ┤          ×       •───•",
        *["       │"] * 3,
        " 1,100 ┤",
        *["       │"] * 3,
        " 1,000 ┤  •───•───────•",
    ]

    assert expected == list(levels(COUNTS, {2}, LINES, 80))


def test_counts_at_one_level_are_one_line() -> None:
    """A scale would have nothing to show."""
    assert [" 1,000 ┤  •───•"] == list(levels([1000, 1000], (), [Line(0, 1, 1000)], 80))


@pytest.mark.parametrize("number", [1, 2, 17, 18, 19, 365])
def test_a_plot_of_levels_is_no_wider_than_asked(number: int) -> None:
    """More counts than columns share them."""
    counts = [1000 + place for place in range(number)]
    lines = [Line(0, number - 1, 1000)]

    assert max(len(line) for line in levels(counts, (), lines, 80)) <= 80


@pytest.mark.parametrize("count", [0, 1, 10**12])
def test_a_scale_fits_its_counts(count: int) -> None:
    """However large they are."""
    assert [f"{count:>6,} ┤  •"] == list(levels([count], (), [Line(0, 0, count)], 80))


def test_a_curve_shows_its_counts_its_fit_and_its_title() -> None:
    """On two logarithmic axes."""
    counts = {2**power: 500 + 3 * 2**power for power in range(8)}

    text = "\n".join(curves("add: instructions", "N", [Curve("Python", counts, fit(counts))]))

    assert "add: instructions" in text
    assert "●● Python" in text
    assert "··●··" in text


def test_curves_without_a_fit_are_their_counts_alone() -> None:
    """With a marker for each curve."""
    found = [Curve("Python", {1: 100, 10: 200}), Curve("C++", {1: 50, 10: 90})]

    text = "\n".join(curves("add", "N", found))

    assert "●● Python" in text
    assert "○○ C++" in text
    assert "·" not in text


def test_a_curve_of_one_size_has_one_tick() -> None:
    """There is no range to divide."""
    assert any("64" in line for line in curves("add", "N", [Curve("Python", {64: 100})]))


def test_nothing_counted_is_no_plot() -> None:
    """All sizes failed."""
    assert [] == list(curves("add", "N", []))
