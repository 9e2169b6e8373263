"""Where the instructions of two sides went: function by function, by layer, and over callers."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.analysis.attribution.functions import (
    FunctionDifference,
    difference,
    layer_counts,
    steady_change,
)
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.domain.outcomes import FunctionCosts
from tests.analysis.attribution.made import change_of, costs, total
from tests.builders import costs_of, counted
from tests.fakes import failed, make_record

# What holds of any two sides


@given(costs(), costs())
def test_sides_and_changes_add_up(base: FunctionCosts, new: FunctionCosts) -> None:
    """Over functions, layers and libraries, each once and the largest first; calls, too."""
    found = difference(base, new)
    calls = [Fraction(sum(call.calls for call in side.calls), side.runs) for side in (base, new)]

    assert total(new) - total(base) == found.delta
    for parts in (found.by_layer(), found.by_library()):
        assert total(base) == sum(part.base for part in parts)
        assert total(new) == sum(part.new for part in parts)
    assert calls == [
        sum(call.base_calls or 0 for call in found.calls),
        sum(call.new_calls or 0 for call in found.calls),
    ]
    keys = [change.key for change in found.functions]
    assert len(set(keys)) == len(keys)
    for parts in (found.functions, found.by_layer(), found.by_library(), found.calls):
        sizes = [abs(change.delta) for change in parts]
        assert sorted(sizes, reverse=True) == sizes


# Functions


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        (costs_of({"f": 1000}, runs=10), costs_of({"f": 505}, runs=5), (100, 101)),
        # A third of an instruction is no third of an instruction more.
        (costs_of({"f": 1}, runs=3), costs_of({"f": 2}, runs=6), (Fraction(1, 3), Fraction(1, 3))),
        (None, costs_of({"f": 5}), (None, 5)),
        # Clones of a function are one, and so are versions of a library.
        (
            costs_of({"f [clone .isra.0]": 5, "f [clone .constprop.1]": 6}),
            costs_of({"f": 12}),
            (11, 12),
        ),
        (
            costs_of({"f": 5}, library="libpython3.10.so.1.0"),
            costs_of({"f": 6}, library="libpython3.11.so.1.0"),
            (5, 6),
        ),
    ],
)
def test_a_function_costs_what_an_iteration_spends_in_it(
    base: FunctionCosts | None, new: FunctionCosts, expected: tuple[Fraction | None, Fraction]
) -> None:
    """Exactly, under every name that it has on a side; a dearer case is measured in fewer runs."""
    (change,) = difference(base, new).functions

    assert expected == (change.base, change.new)


def test_a_name_with_functions_of_two_layers_is_two() -> None:
    """Its reduced template arguments say whose it is."""
    hashtable = "std::_Hashtable<int, std::pair<int const, {}>, std::allocator<int> >::clear()"
    base = costs_of(
        {hashtable.format("dnnl::memory"): 5, hashtable.format("torch::autograd::Node*"): 6}
    )

    assert {Layer.KERNELS, Layer.AUTOGRAD} == {
        change.key.layer for change in difference(base, None).functions
    }


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        ({"at::f(int)": 5}, {"at::f(int, bool)": 7}, [("at::f(int, bool)", 5, 7)]),
        # Where several could be meant, none is; and an overload beside the old one is new.
        (
            {"at::f(int)": 5, "at::f(long)": 6},
            {"at::f(bool)": 7},
            [("at::f(bool)", None, 7), ("at::f(long)", 6, None), ("at::f(int)", 5, None)],
        ),
        (
            {"at::f(int)": 5},
            {"at::f(int)": 5, "at::f(long)": 6},
            [("at::f(long)", None, 6), ("at::f(int)", 5, 5)],
        ),
    ],
)
def test_a_function_with_a_new_parameter_is_the_same_function(
    base: dict[str, int], new: dict[str, int], expected: list[tuple[str, int | None, int | None]]
) -> None:
    """It is known by its new name."""
    found = difference(costs_of(base), costs_of(new)).functions

    assert expected == [(change.key.name, change.base, change.new) for change in found]


# Calls


def callers(found: FunctionDifference, name: str) -> list[tuple[object, ...]]:
    """Who calls a function: the caller, calls and instructions on both sides."""
    return [
        (call.caller.name, call.base_calls, call.new_calls, call.base, call.new)
        for call in found.callers(change_of(found, name).key)
    ]


def test_callers_are_reported_with_what_is_below_them() -> None:
    """Per run, the largest change first, by the new name, and without the function itself."""
    base = costs_of(
        {"f": 1, "g": 1, "h(int)": 5},
        [("f", "h(int)", 1, 3), ("g", "h(int)", 1, 3), ("h(int)", "h(int)", 1, 1)],
    )
    new = costs_of({"f": 2, "g": 2, "h()": 20}, [("f", "h()", 2, 6), ("g", "h()", 4, 18)], runs=2)
    found = difference(base, new)
    change = change_of(found, "h()")

    assert [("g", 1, 2, 3, 9), ("f", 1, 1, 3, 3)] == callers(found, "h()")
    assert (3, 3, 0) == (change.base_calls, change.new_calls, change.more_calls)


def test_callers_of_a_function_below_itself_are_not_told() -> None:
    """With each call, its costs would count once more."""
    calls = [("g", "eval", 2, 14), ("main", "g", 1, 10), ("eval", "g", 1, 5)]
    sides = (costs_of({"main": 1, "g": 3, "eval": spent}, calls) for spent in (7, 8))
    found = difference(*sides)

    assert [] == callers(found, "eval")


def test_calls_of_a_first_run_are_unknown_and_what_they_cost_is_not() -> None:
    """Who calls what is known, too."""
    sides = (costs_of({"f": own, "g": 1}, [("g", "f", 0, own)]) for own in (5, 6))
    found = difference(*sides)

    assert {(None, None)} == {(each.base_calls, each.new_calls) for each in found.functions}
    assert [(5, 6, None)] == [(call.base, call.new, call.new_calls) for call in found.calls]


def test_calls_are_unknown_where_they_were_not_stored() -> None:
    """A caller of one side alone would look as if it were new."""
    base, new = costs_of({"f": 5, "g": 1}), costs_of({"f": 6, "g": 1}, [("g", "f", 1, 6)])
    found = difference(base, new)
    change = change_of(found, "f")

    assert (None, 1, 0) == (change.base_calls, change.new_calls, change.more_calls)
    assert [] == callers(found, "f")
    assert [(None, 6, 0)] == [(call.base, call.new, call.delta) for call in found.calls]


def test_callers_can_be_left_out() -> None:
    """Most who ask what changed do not ask for them; calls into a function are counted as ever."""
    calls = [("g", "f", 1, 6)]
    sides = costs_of({"f": 5, "g": 1}, calls), costs_of({"f": 6, "g": 1}, calls * 2, runs=3)
    short = difference(*sides, with_calls=False)

    assert () == short.calls
    assert difference(*sides).functions == short.functions


# Layers


@given(costs(), st.integers(0, 10**7))
def test_layers_add_up_to_the_count(functions: FunctionCosts, count: int) -> None:
    """Also where they were counted in other windows than the count, or cost less than the loop.

    A case that failed has none.
    """
    found = layer_counts(make_record(outcome=counted(count, functions=functions)))

    assert (total(functions) > 0) is bool(found) or not count
    assert not found or sum(found.values()) == count
    assert {} == layer_counts(make_record(outcome=failed()))


# Layouts


@pytest.mark.parametrize(
    ("base", "new", "change"),
    [
        # What costs the same in each layout of a side changed by whatever it costs more.
        ([{"f": 50}] * 2, [{"f": 51}] * 2, 1),
        # What layouts move as far did not change: base reaches from 50 to 80 by itself.
        ([{"f": 50}, {"f": 80}], [{"f": 90}, {"f": 120}], 0),
        ([{"f": 50}, {"f": 80}], [{"f": 60}, {"f": 60}], 0),
        # What lies further off did, by the median.
        ([{"f": 50}, {"f": 80}], [{"f": 110}, {"f": 120}], 0),
        ([{"f": 50}, {"f": 80}], [{"f": 111}, {"f": 120}], 50),
        ([{"f": 50}, {"f": 80}], [{"f": 9}, {"f": 19}], -51),
        # A function that layouts move hides no other.
        (
            [{"f": 100, "g": 40}, {"f": 900, "g": 40}],
            [{"f": 800, "g": 61}, {"f": 200, "g": 61}],
            21,
        ),
        # So did what is executed on one side alone.
        ([{"f": 10}] * 2, [{"f": 10, "wrapper": 7}] * 2, 7),
    ],
)
def test_what_layouts_do_not_move_that_far_changed(
    base: list[dict[str, int]], new: list[dict[str, int]], change: int
) -> None:
    """Function by function, per iteration; what costs nothing is not there."""
    sides = (
        [costs_of({name: cost * runs for name, cost in spent.items()}, runs=runs) for spent in side]
        for side, runs in ((base, 4), (new, 7))
    )

    assert change == steady_change(*sides)
