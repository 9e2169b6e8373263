"""The difference between the costs of two sides, function by function."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given

from instruction_counts.analysis.attribution.causes import inlinings, top_causes
from instruction_counts.analysis.attribution.function_changes import ChangeKind
from instruction_counts.analysis.attribution.functions import difference, shown
from instruction_counts.domain.outcomes import FunctionCosts
from tests.analysis.attribution.made import costs, total
from tests.builders import costs_of


@given(costs(), costs())
def test_the_changes_add_up_to_the_change_of_the_count(
    base: FunctionCosts, new: FunctionCosts
) -> None:
    """Exclusive costs count every instruction once, whatever the runs on each side."""
    assert total(new) - total(base) == difference(base, new).delta


@given(costs(), costs())
def test_each_side_adds_up_to_its_count(base: FunctionCosts, new: FunctionCosts) -> None:
    """Nothing is lost where names are made one."""
    found = difference(base, new)

    assert total(base) == found.base
    assert total(new) == found.new


@given(costs(), costs())
def test_calls_add_up(base: FunctionCosts, new: FunctionCosts) -> None:
    """To those that are stored, per run."""
    found = difference(base, new)
    expected = [Fraction(sum(call.calls for call in side.calls), side.runs) for side in (base, new)]

    assert expected == [
        sum(call.base_calls or 0 for call in found.calls),
        sum(call.new_calls or 0 for call in found.calls),
    ]


@given(costs(), costs())
def test_every_function_is_there_once(base: FunctionCosts, new: FunctionCosts) -> None:
    """By its name, its library and its layer."""
    keys = [change.key for change in difference(base, new).functions]

    assert len(set(keys)) == len(keys)


@given(costs())
def test_nothing_changes_between_a_side_and_itself(side: FunctionCosts) -> None:
    """No function, no move and no cause."""
    found = difference(side, side)

    assert () == found.changed
    assert () == inlinings(found)
    assert () == top_causes(found)


@given(costs(), costs())
def test_the_way_back_is_the_opposite(base: FunctionCosts, new: FunctionCosts) -> None:
    """Layer by layer."""
    there, back = difference(base, new), difference(new, base)

    assert {share.title: share.delta for share in there.by_layer()} == {
        share.title: -share.delta for share in back.by_layer()
    }


@given(costs(), costs())
def test_the_largest_change_comes_first(base: FunctionCosts, new: FunctionCosts) -> None:
    """Of functions, layers, libraries and calls."""
    found = difference(base, new)
    everything = (found.functions, found.by_layer(), found.by_library(), found.calls)

    for ones in everything:
        sizes = [abs(change.delta) for change in ones]
        assert sorted(sizes, reverse=True) == sizes


def test_costs_are_per_run_on_either_side() -> None:
    """A dearer statement is measured in fewer runs."""
    found = difference(costs_of({"f": 1000}, runs=10), costs_of({"f": 505}, runs=5))

    assert Fraction(100) == found.functions[0].base
    assert Fraction(101) == found.functions[0].new


def test_amounts_are_exact() -> None:
    """A third of an instruction is no third of an instruction more."""
    found = difference(costs_of({"f": 1}, runs=3), costs_of({"f": 2}, runs=6))

    assert ChangeKind.SAME is found.functions[0].kind


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        ({}, {"f": 5}, ChangeKind.ENTERED),
        ({"f": 5}, {}, ChangeKind.LEFT),
        ({"f": 5}, {"f": 6}, ChangeKind.CHANGED),
        ({"f": 5}, {"f": 5}, ChangeKind.SAME),
    ],
)
def test_a_function_enters_leaves_changes_or_stays(
    base: dict[str, int], new: dict[str, int], expected: ChangeKind
) -> None:
    """By the sides that it is on."""
    assert expected is difference(costs_of(base), costs_of(new)).functions[0].kind


def test_the_largest_changes_are_the_causes() -> None:
    """Whichever their sign, and no more than three."""
    found = difference(
        costs_of({"a": 100, "b": 100, "c": 100, "d": 100}),
        costs_of({"a": 130, "b": 60, "c": 101, "d": 1312}),
    )

    assert [("d", 1212), ("b", -40), ("a", 30)] == [
        (cause.name, cause.change) for cause in top_causes(found)
    ]


@pytest.mark.parametrize(
    ("amount", "expected"),
    [(Fraction(1234), "1,234"), (Fraction(1, 2), "0.5"), (Fraction(10, 3), "3.33")],
)
def test_amounts_are_shown_with_what_they_need(amount: Fraction, expected: str) -> None:
    """Whole numbers are whole."""
    assert expected == shown(amount)
