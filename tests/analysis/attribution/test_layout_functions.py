"""Telling what layouts move from what code changes."""

from __future__ import annotations

import attrs
import pytest

from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.analysis.attribution.layout_functions import is_layout_alone, steady_part
from instruction_counts.domain.outcomes import CallCost, FunctionCost, FunctionCosts

PYTHON = "python3.11"


def costs(**functions: int) -> FunctionCosts:
    """Functions of the interpreter with their costs."""
    rows = [FunctionCost(PYTHON, "", name, cost) for name, cost in functions.items()]
    return FunctionCosts(1, tuple(rows))


def alone(base: FunctionCosts, new: FunctionCosts) -> bool:
    """Whether only layout moved."""
    return is_layout_alone(difference(base, new))


def test_a_collision_in_the_method_cache_is_layout() -> None:
    """The look-up, and what it does instead."""
    assert alone(
        costs(_PyType_Lookup=50, main=9), costs(_PyType_Lookup=80, main=9, find_name_in_mro=40)
    )


def test_a_name_that_is_freed_with_its_entry_is_layout() -> None:
    """Another look-up put it out."""
    assert alone(costs(_PyType_Lookup=50), costs(_PyType_Lookup=80, free=40, unicode_dealloc=9))


def test_freeing_alone_is_none() -> None:
    """Something else gave it back."""
    assert not alone(costs(free=50), costs(free=80))


def test_another_try_to_specialise_is_layout() -> None:
    """It falls into a window or not."""
    assert alone(costs(_Py_Specialize_LoadAttr=50), costs(_Py_Specialize_LoadAttr=80))


@pytest.mark.parametrize("name", ["at::native::add", "PyObject_GetAttr", "malloc"])
def test_anything_else_that_moves_is_none(name: str) -> None:
    """However little."""
    base = costs(_PyType_Lookup=50, **{name: 5})

    assert not alone(base, costs(_PyType_Lookup=80, **{name: 6}))


def test_nothing_that_moves_is_none() -> None:
    """There is nothing to explain."""
    assert not alone(costs(main=5), costs(main=5))


TABLE = "std::_Hashtable<void const*, int>::equal_range(void const* const&)"
INLINED = "pybind11::detail::all_type_info_get_cache(_typeobject*)"


def table(cost: int, calls: int = 4, name: str = TABLE) -> FunctionCosts:
    """A table of C++ and what calls it: together 1,000 instructions, in most cases."""
    rows = (FunctionCost("a.so", "", name, cost), FunctionCost(PYTHON, "", "main", 940))
    return FunctionCosts(1, rows, (CallCost(1, 0, calls, cost),))


@pytest.mark.parametrize("name", [TABLE, INLINED])
def test_a_table_whose_keys_share_other_buckets_is_layout(name: str) -> None:
    """It is called as often."""
    assert alone(table(60, name=name), table(62, name=name))


def test_a_table_that_is_called_more_often_is_none() -> None:
    """Something calls it."""
    assert not alone(table(60), table(62, calls=5))


def test_a_table_that_costs_much_more_is_none() -> None:
    """No layout moves a case by that."""
    assert not alone(table(60), table(64))


@pytest.mark.parametrize(
    "name",
    [
        "_PyType_Lookup",
        "set_lookkey",
        "_PyEval_EvalFrameDefault",
        "_Py_Specialize_LoadAttr",
        TABLE,
        "torch::autograd::Engine::compute_dependencies(torch::autograd::Node*)",
    ],
)
def test_what_layouts_move_is_not_steady(name: str) -> None:
    """All else is, in each iteration."""
    found = costs(**{name: 50, "malloc": 30, "at::add": 40})
    assert 10 == steady_part(attrs.evolve(found, runs=7))
