"""The functions of one side, by names that can be found on the other."""

from __future__ import annotations

import pytest

from instruction_counts.analysis.attribution.function_changes import ChangeKind
from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.domain.errors import DataError
from instruction_counts.domain.outcomes import CallCost, FunctionCost, FunctionCosts
from tests.analysis.attribution.made import change_of
from tests.builders import CPU, costs_of


def test_a_side_without_functions_spends_nothing() -> None:
    """All functions of the other one enter."""
    found = difference(None, costs_of({"f": 5, "g": 6}))

    assert [ChangeKind.ENTERED] * 2 == [change.kind for change in found.functions]
    assert 11 == found.delta


def test_a_function_of_another_library_is_another_one() -> None:
    """Inline functions are compiled into each library that uses them."""
    found = difference(costs_of({"f": 5}, library="a.so"), costs_of({"f": 5}, library="b.so"))

    assert {ChangeKind.ENTERED, ChangeKind.LEFT} == {change.kind for change in found.functions}


def test_versions_of_a_library_are_the_same_one() -> None:
    """Two builds seldom use the same."""
    base = costs_of({"take_gil": 5}, library="libpython3.10.so.1.0")
    new = costs_of({"take_gil": 5}, library="libpython3.11.so.1.0")

    assert () == difference(base, new).changed


def test_clones_of_a_function_are_one() -> None:
    """The compiler makes as many as it likes."""
    found = difference(
        costs_of({"f(int) [clone .isra.0]": 5, "f(int) [clone .constprop.1]": 6}),
        costs_of({"f(int)": 12}),
    )

    assert 1 == change_of(found, "f(int)").delta


def test_a_name_with_functions_of_two_layers_is_two() -> None:
    """Its reduced template arguments say whose it is."""
    hashtable = "std::_Hashtable<int, std::pair<int const, {}>, std::allocator<int> >::clear()"
    base = costs_of(
        {hashtable.format("dnnl::memory"): 5, hashtable.format("torch::autograd::Node*"): 6}
    )

    assert {Layer.KERNELS, Layer.AUTOGRAD} == {
        change.key.layer for change in difference(base, None).functions
    }


def test_a_function_with_a_new_parameter_is_the_same_function() -> None:
    """It is known by its new name, and its old one is kept."""
    found = difference(costs_of({"at::f(int)": 5}), costs_of({"at::f(int, bool)": 7}))

    assert [("at::f(int, bool)", "at::f(int)", 2)] == [
        (change.key.name, change.was, change.delta) for change in found.functions
    ]


def test_callers_know_a_function_by_its_new_name() -> None:
    """Calls before and after are one edge."""
    found = difference(
        costs_of({"main": 1, "at::f(int)": 5}, [("main", "at::f(int)", 1, 5)]),
        costs_of({"main": 1, "at::f(long)": 7}, [("main", "at::f(long)", 2, 7)]),
    )

    assert [(1, 2, 5, 7)] == [
        (call.base_calls, call.new_calls, call.base, call.new) for call in found.calls
    ]


def test_overloads_are_not_taken_for_each_other() -> None:
    """Where several could be meant, none is."""
    found = difference(costs_of({"at::f(int)": 5, "at::f(long)": 6}), costs_of({"at::f(bool)": 7}))

    assert 3 == len(found.functions)
    assert ["", "", ""] == [change.was for change in found.functions]


def test_a_function_that_stays_gives_its_name_to_no_other() -> None:
    """An overload that enters beside it is new."""
    found = difference(costs_of({"at::f(int)": 5}), costs_of({"at::f(int)": 5, "at::f(long)": 6}))

    assert ChangeKind.ENTERED is change_of(found, "at::f(long)").kind


@pytest.mark.parametrize(
    "damaged",
    [
        costs_of({"f": 5}, runs=0),
        FunctionCosts(1, (), (CallCost(0, 0, 1, 1),)),
        FunctionCosts(1, (FunctionCost(CPU, "", "f", 1),), (CallCost(0, -1, 1, 1),)),
    ],
)
def test_costs_that_contradict_themselves_are_refused(damaged: FunctionCosts) -> None:
    """A file may have been edited."""
    with pytest.raises(DataError):
        difference(damaged, None)
