"""Telling what layouts move from what changed, function by function."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from instruction_counts.analysis.attribution.functions import steady_change
from instruction_counts.domain.outcomes import FunctionCost, FunctionCosts

LIBRARY = "libtorch_cpu.so"


def layouts(*counts: int, runs: int = 1, **others: int) -> list[FunctionCosts]:
    """A function that costs so much in each layout, and others that cost the same in all."""
    return [
        FunctionCosts(
            runs,
            tuple(
                FunctionCost(LIBRARY, "", name, cost * runs)
                for name, cost in {"moved": count, **others}.items()
                if cost
            ),
        )
        for count in counts
    ]


def test_what_costs_the_same_in_each_layout_of_a_side_changed() -> None:
    """By whatever it costs more."""
    assert 1 == steady_change(layouts(50, 50), layouts(51, 51))


@pytest.mark.parametrize("new", [(90, 120), (65, 95), (60, 60)])
def test_what_layouts_move_as_far_did_not_change(new: Sequence[int]) -> None:
    """Base reaches from 50 to 80 by itself."""
    assert 0 == steady_change(layouts(50, 80), layouts(*new))


@pytest.mark.parametrize(("new", "change"), [((111, 120), 50), ((9, 19), -51)])
def test_what_lies_further_off_than_layouts_move_it_changed(
    new: Sequence[int], change: int
) -> None:
    """By the median."""
    assert change == steady_change(layouts(50, 80), layouts(*new))


def test_a_function_that_layouts_move_hides_no_other() -> None:
    """As a table of addresses does not hide a call."""
    base, new = layouts(100, 900, relu=40), layouts(800, 200, relu=61)

    assert 21 == steady_change(base, new)


def test_what_is_executed_on_one_side_alone_changed() -> None:
    """A call that was not there before."""
    assert 7 == steady_change(layouts(10, 10), layouts(10, 10, wrapper=7))


def test_costs_are_those_of_an_iteration() -> None:
    """Sides may have been counted over different numbers of them."""
    assert 3 == steady_change(layouts(10, 10, runs=4), layouts(13, 13, runs=7))
