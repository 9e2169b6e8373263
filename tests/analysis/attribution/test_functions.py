"""The difference between the costs of two sides, function by function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.analysis.attribution.function_changes import (
    ChangeKind,
    FunctionChange,
    FunctionDifference,
)
from instruction_counts.analysis.attribution.functions import (
    difference,
    more_calls,
    shown,
    top_causes,
)
from instruction_counts.analysis.attribution.inlining import inlinings
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.domain.errors import DataError
from instruction_counts.domain.outcomes import CallCost, FunctionCost, FunctionCosts

CPU = "libtorch_cpu.so"


def costs_of(
    exclusive: Mapping[str, int],
    calls: Sequence[tuple[str, str, int, int]] = (),
    *,
    runs: int = 1,
    library: str = CPU,
) -> FunctionCosts:
    """Costs of functions in one library, and calls: caller, callee, how often, instructions."""
    names = list(exclusive)
    return FunctionCosts(
        runs,
        tuple(FunctionCost(library, "???", name, cost) for name, cost in exclusive.items()),
        tuple(CallCost(names.index(a), names.index(b), n, cost) for a, b, n, cost in calls),
    )


def change_of(found: FunctionDifference, name: str) -> FunctionChange:
    """The only function of that name."""
    (change,) = (one for one in found.functions if one.key.name == name)
    return change


FUNCTIONS = st.sampled_from(
    [
        *(("libtorch_cpu.so", f"at::native::f({kind})") for kind in ("int", "long", "")),
        *(("libtorch_cpu.so", f"at::_ops::add::call<{number}>(int)") for number in (1, 2)),
        *(("libc.so.6", name) for name in ("malloc", "free", "memcpy@@GLIBC_2.14")),
        *(("libpython3.11.so.1.0", name) for name in ("PyNumber_Add", "slot.isra.0", "slot")),
        *(("libpython3.12.so.1.0", name) for name in ("PyNumber_Add", "tuple_alloc")),
        *(("???", name) for name in ("0x2c706000", "0x493d7a8")),
        ("case.so", "main"),
    ]
)


@st.composite
def costs(draw: st.DrawFn) -> FunctionCosts:
    """Costs of any functions, some in several files, with any calls among them."""
    rows = draw(st.lists(st.tuples(FUNCTIONS, st.sampled_from("ab"), st.integers(-9, 10**6))))
    places = st.integers(0, max(0, len(rows) - 1))
    edges = st.builds(CallCost, places, places, st.integers(-2, 99), st.integers(-9, 10**6))
    return FunctionCosts(
        draw(st.sampled_from([1, 2, 3, 5, 10, 100])),
        tuple(FunctionCost(library, file, name, cost) for (library, name), file, cost in rows),
        tuple(draw(st.lists(edges))) if rows else (),
    )


def total(costs: FunctionCosts) -> Fraction:
    """Instructions per run."""
    return Fraction(sum(one.exclusive for one in costs.costs), costs.runs)


# Sums


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

    assert (total(base), total(new)) == (found.base, found.new)


@given(costs(), costs())
def test_layers_and_libraries_add_up_to_the_same(base: FunctionCosts, new: FunctionCosts) -> None:
    """They are other ways to group the same functions."""
    found = difference(base, new)
    sums = [
        (sum(one.base for one in shares), sum(one.new for one in shares))
        for shares in (found.by_layer(), found.by_library())
    ]

    assert [(found.base, found.new)] * 2 == sums


@given(costs(), costs())
def test_calls_add_up(base: FunctionCosts, new: FunctionCosts) -> None:
    """To those that are stored, per run."""
    found = difference(base, new)
    expected = [Fraction(sum(one.calls for one in side.calls), side.runs) for side in (base, new)]

    assert expected == [
        sum(one.base_calls or 0 for one in found.calls),
        sum(one.new_calls or 0 for one in found.calls),
    ]


@given(costs(), costs())
def test_every_function_is_there_once(base: FunctionCosts, new: FunctionCosts) -> None:
    """By its name, its library and its layer."""
    keys = [one.key for one in difference(base, new).functions]

    assert len(set(keys)) == len(keys)


@given(costs())
def test_nothing_changes_between_a_side_and_itself(side: FunctionCosts) -> None:
    """No function, no move and no cause."""
    found = difference(side, side)

    assert ((), (), ()) == (found.changed, inlinings(found), top_causes(found))


@given(costs(), costs())
def test_the_way_back_is_the_opposite(base: FunctionCosts, new: FunctionCosts) -> None:
    """Layer by layer."""
    there, back = difference(base, new), difference(new, base)

    assert {one.title: one.delta for one in there.by_layer()} == {
        one.title: -one.delta for one in back.by_layer()
    }


@given(costs(), costs())
def test_the_largest_change_comes_first(base: FunctionCosts, new: FunctionCosts) -> None:
    """Of functions, layers, libraries and calls."""
    found = difference(base, new)
    everything = (found.functions, found.by_layer(), found.by_library(), found.calls)

    for ones in everything:
        sizes = [abs(one.delta) for one in ones]
        assert sorted(sizes, reverse=True) == sizes


@given(costs(), costs())
def test_moves_tell_each_function_once(base: FunctionCosts, new: FunctionCosts) -> None:
    """So that no change is told twice."""
    moves = inlinings(difference(base, new))
    told = [key for move in moves for key in (move.caller, *move.functions)]

    assert len(set(told)) == len(told)


# Per run


def test_costs_are_per_run_on_either_side() -> None:
    """A dearer statement is measured in fewer runs."""
    found = difference(costs_of({"f": 1000}, runs=10), costs_of({"f": 505}, runs=5))

    assert (Fraction(100), Fraction(101)) == (found.functions[0].base, found.functions[0].new)


def test_amounts_are_exact() -> None:
    """A third of an instruction is no third of an instruction more."""
    found = difference(costs_of({"f": 1}, runs=3), costs_of({"f": 2}, runs=6))

    assert ChangeKind.SAME is found.functions[0].kind


# What happened to a function


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


def test_a_side_without_functions_spends_nothing() -> None:
    """All functions of the other one enter."""
    found = difference(None, costs_of({"f": 5, "g": 6}))

    assert ([ChangeKind.ENTERED] * 2, 11) == ([one.kind for one in found.functions], found.delta)


def test_a_function_of_another_library_is_another_one() -> None:
    """Inline functions are compiled into each library that uses them."""
    found = difference(costs_of({"f": 5}, library="a.so"), costs_of({"f": 5}, library="b.so"))

    assert {ChangeKind.ENTERED, ChangeKind.LEFT} == {one.kind for one in found.functions}


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
    """Its reduced template arguments told whose it is."""
    hashtable = "std::_Hashtable<int, std::pair<int const, {}>, std::allocator<int> >::clear()"
    base = costs_of(
        {hashtable.format("dnnl::memory"): 5, hashtable.format("torch::autograd::Node*"): 6}
    )

    assert {Layer.KERNELS, Layer.AUTOGRAD} == {
        one.key.layer for one in difference(base, None).functions
    }


def test_a_function_with_a_new_parameter_is_the_same_function() -> None:
    """It is known by its new name, and its old one is kept."""
    found = difference(costs_of({"at::f(int)": 5}), costs_of({"at::f(int, bool)": 7}))

    assert [("at::f(int, bool)", "at::f(int)", 2)] == [
        (one.key.name, one.was, one.delta) for one in found.functions
    ]


def test_callers_know_a_function_by_its_new_name() -> None:
    """Calls before and after are one edge."""
    found = difference(
        costs_of({"main": 1, "at::f(int)": 5}, [("main", "at::f(int)", 1, 5)]),
        costs_of({"main": 1, "at::f(long)": 7}, [("main", "at::f(long)", 2, 7)]),
    )

    assert [(1, 2, 5, 7)] == [
        (one.base_calls, one.new_calls, one.base, one.new) for one in found.calls
    ]


def test_overloads_are_not_taken_for_each_other() -> None:
    """Where several could be meant, none is."""
    found = difference(costs_of({"at::f(int)": 5, "at::f(long)": 6}), costs_of({"at::f(bool)": 7}))

    assert (3, ["", "", ""]) == (len(found.functions), [one.was for one in found.functions])


def test_a_function_that_stays_gives_its_name_to_no_other() -> None:
    """An overload that enters beside it is new."""
    found = difference(costs_of({"at::f(int)": 5}), costs_of({"at::f(int)": 5, "at::f(long)": 6}))

    assert ChangeKind.ENTERED is change_of(found, "at::f(long)").kind


# Calls


def test_calls_into_a_function_are_summed_over_its_callers() -> None:
    """Per run, on each side."""
    base = costs_of({"f": 1, "g": 1, "malloc": 60}, [("f", "malloc", 9, 54), ("g", "malloc", 1, 6)])
    new = costs_of(
        {"f": 2, "g": 2, "malloc": 132},
        [("f", "malloc", 18, 108), ("g", "malloc", 4, 24)],
        runs=2,
    )
    one = change_of(difference(base, new), "malloc")

    assert (10, 11, 1) == (one.base_calls, one.new_calls, one.more_calls)


def test_calls_are_unknown_where_they_were_not_stored() -> None:
    """And then there is no change of calls."""
    base, new = costs_of({"f": 5}), costs_of({"g": 1, "f": 5}, [("g", "f", 1, 5)])
    one = change_of(difference(base, new), "f")

    assert (None, 1, 0) == (one.base_calls, one.new_calls, one.more_calls)


def test_callers_are_unknown_where_calls_were_not_stored() -> None:
    """A caller of one side alone would look as if it were new."""
    base, new = costs_of({"f": 5, "g": 1}), costs_of({"f": 6, "g": 1}, [("g", "f", 1, 6)])
    found = difference(base, new)

    assert () == found.callers(change_of(found, "f").key)
    assert [(None, 6, 0)] == [(one.base, one.new, one.delta) for one in found.calls]


def test_callers_are_told_with_what_is_below_them() -> None:
    """On both sides, the largest change first, and without the function itself."""
    base = costs_of(
        {"f": 1, "g": 1, "h": 5}, [("f", "h", 1, 3), ("g", "h", 1, 3), ("h", "h", 1, 1)]
    )
    new = costs_of({"f": 1, "g": 1, "h": 5}, [("f", "h", 1, 3), ("g", "h", 2, 9)])
    found = difference(base, new)

    assert [("g", 1, 2, 3, 9), ("f", 1, 1, 3, 3)] == [
        (one.caller.name, one.base_calls, one.new_calls, one.base, one.new)
        for one in found.callers(change_of(found, "h").key)
    ]


# Causes


def test_the_largest_changes_are_the_causes() -> None:
    """Whichever their sign, and no more than asked for."""
    found = difference(
        costs_of({"a": 100, "b": 100, "c": 100, "d": 100}),
        costs_of({"a": 130, "b": 60, "c": 101, "d": 1312}),
    )

    assert ("+1,212 d", "-40 b", "+30 a") == top_causes(found)
    assert ("+1,212 d",) == top_causes(found, 1)


def test_a_cause_tells_of_calls_that_changed() -> None:
    """An allocation more is a reason."""
    base = costs_of({"f": 1, "malloc": 31}, [("f", "malloc", 1, 31)])
    new = costs_of({"f": 1, "malloc": 62}, [("f", "malloc", 2, 62)])

    assert ("+31 malloc (+1 call)",) == top_causes(difference(base, new))


def test_a_cause_tells_of_functions_that_enter_and_leave() -> None:
    """Their calls are no news then."""
    found = difference(costs_of({"old": 10}), costs_of({"new": 30}))

    assert ("+30 new (new)", "-10 old (gone)") == top_causes(found)


def test_what_rounds_to_nothing_is_no_cause() -> None:
    """It is an instruction in several runs."""
    assert () == top_causes(difference(costs_of({"f": 10}, runs=10), costs_of({"f": 12}, runs=10)))


def inlined() -> tuple[FunctionCosts, FunctionCosts]:
    """A caller with its callee, and the same with the callee inlined."""
    calls = [("caller", "callee", 1, 50), ("callee", "below", 1, 20)]
    base = costs_of({"caller": 100, "callee": 30, "below": 20}, calls)
    new = costs_of({"caller": 125, "below": 20}, [("caller", "below", 1, 20)])
    return base, new


def test_a_function_that_was_inlined_is_one_change_with_its_caller() -> None:
    """The caller did not get dearer, and the callee is not gone."""
    assert ("-5 caller (callee inlined)",) == top_causes(difference(*inlined()))


def test_a_function_that_is_no_longer_inlined_is_one_change_with_its_caller() -> None:
    """The same the other way round."""
    base, new = inlined()

    assert ("+5 caller (callee no longer inlined)",) == top_causes(difference(new, base))


def test_functions_inlined_into_each_other_are_one_change_with_the_last() -> None:
    """However many there are."""
    names = {"f": 100, "g": 30, "h": 20}
    base = costs_of(names, [("f", "g", 1, 50), ("g", "h", 1, 20)])
    (move,) = inlinings(difference(base, costs_of({"f": 145}, [("f", "f", 0, 0)])))

    assert (["g", "h"], -5) == ([key.name for key in move.functions], move.delta)


def test_a_function_that_is_gone_is_not_taken_as_inlined_without_a_trace_of_it() -> None:
    """Its caller has to cost about as much more."""
    base, _ = inlined()
    new = costs_of({"caller": 101, "below": 20}, [("caller", "below", 1, 20)])

    assert ("-30 callee (gone)", "+1 caller") == top_causes(difference(base, new))


def test_a_function_with_several_callers_is_not_taken_as_inlined() -> None:
    """Which of them has it is not known."""
    calls = [("f", "h", 1, 10), ("g", "h", 1, 10)]
    base = costs_of({"f": 10, "g": 10, "h": 20}, calls)

    assert () == inlinings(difference(base, costs_of({"f": 20, "g": 20})))


def test_functions_that_call_each_other_are_not_inlined_into_each_other() -> None:
    """The search for a caller that is left ends."""
    base = costs_of({"f": 5, "g": 6}, [("f", "g", 1, 6), ("g", "f", 1, 5)])

    assert () == inlinings(difference(base, costs_of({"h": 11})))


# Numbers for people


@pytest.mark.parametrize(
    ("amount", "expected"),
    [(Fraction(1234), "1,234"), (Fraction(1, 2), "0.5"), (Fraction(10, 3), "3.33")],
)
def test_amounts_are_shown_with_what_they_need(amount: Fraction, expected: str) -> None:
    """Whole numbers are whole."""
    assert expected == shown(amount)


@pytest.mark.parametrize(
    ("amount", "expected"),
    [(Fraction(1), "+1 call"), (Fraction(-2), "-2 calls"), (Fraction(1, 2), "+0.5 calls")],
)
def test_changes_of_calls_have_a_sign(amount: Fraction, expected: str) -> None:
    """And the right number."""
    assert expected == more_calls(amount)


# Damaged data


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


# Libraries without names


def test_a_library_that_is_stripped_on_a_side_is_told_as_a_whole() -> None:
    """No function of it has its like on the other side."""
    base = costs_of({"0x4ac0": 900, "0x4b10": 50, "exported": 50})
    new = costs_of({"at::native::add": 1000, "at::native::mul": 200})

    assert ("+200 libtorch_cpu.so (no names in base)",) == top_causes(difference(base, new))


def test_some_functions_without_a_name_do_not_make_a_library_nameless() -> None:
    """The others are still worth naming."""
    base = costs_of({"0x4ac0": 10, "at::native::add": 990})
    new = costs_of({"0x4ac0": 10, "at::native::add": 1090})

    assert ("+100 at::native::add",) == top_causes(difference(base, new))


def test_an_unnamed_function_is_told_by_its_library() -> None:
    """A cause that says nothing is of no use."""
    base = costs_of({"at::native::add": 990})
    new = costs_of({"0x4ac0": 10, "at::native::add": 990})

    assert ("+10 unnamed in libtorch_cpu.so (new)",) == top_causes(difference(base, new))
