"""Functions that are inlined on one side only."""

from __future__ import annotations

from hypothesis import given

from instruction_counts.analysis.attribution.causes import inlinings, top_causes
from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.domain.outcomes import FunctionCosts
from instruction_counts.report.causes import texts
from tests.analysis.attribution.made import costs
from tests.builders import costs_of


@given(costs(), costs())
def test_moves_tell_each_function_once(base: FunctionCosts, new: FunctionCosts) -> None:
    """So that no change is reported twice."""
    moves = inlinings(difference(base, new))
    reported = [key for move in moves for key in (move.caller, *move.functions)]

    assert len(set(reported)) == len(reported)


def inlined() -> tuple[FunctionCosts, FunctionCosts]:
    """A caller with its callee, and the same with the callee inlined."""
    calls = [("caller", "callee", 1, 50), ("callee", "below", 1, 20)]
    base = costs_of({"caller": 100, "callee": 30, "below": 20}, calls)
    new = costs_of({"caller": 125, "below": 20}, [("caller", "below", 1, 20)])
    return base, new


def test_a_function_that_was_inlined_is_one_change_with_its_caller() -> None:
    """The caller did not get dearer, and the callee is not gone."""
    assert ("-5 caller (callee inlined)",) == texts(top_causes(difference(*inlined())))


def test_a_function_that_is_no_longer_inlined_is_one_change_with_its_caller() -> None:
    """The same the other way round."""
    base, new = inlined()

    assert ("+5 caller (callee no longer inlined)",) == texts(top_causes(difference(new, base)))


def test_functions_inlined_into_each_other_are_one_change_with_the_last() -> None:
    """However many there are."""
    names = {"f": 100, "g": 30, "h": 20}
    base = costs_of(names, [("f", "g", 1, 50), ("g", "h", 1, 20)])
    (move,) = inlinings(difference(base, costs_of({"f": 145}, [("f", "f", 0, 0)])))

    assert ["g", "h"] == [key.name for key in move.functions]
    assert -5 == move.delta


def test_a_function_that_is_gone_is_not_taken_as_inlined_without_a_trace_of_it() -> None:
    """Its caller has to cost about as much more."""
    base, _ = inlined()
    new = costs_of({"caller": 101, "below": 20}, [("caller", "below", 1, 20)])

    assert ("-30 callee (gone)", "+1 caller") == texts(top_causes(difference(base, new)))


def test_a_function_with_several_callers_is_not_taken_as_inlined() -> None:
    """Which of them has it is not known."""
    calls = [("f", "h", 1, 10), ("g", "h", 1, 10)]
    base = costs_of({"f": 10, "g": 10, "h": 20}, calls)

    assert () == inlinings(difference(base, costs_of({"f": 20, "g": 20})))


def test_functions_that_call_each_other_are_not_inlined_into_each_other() -> None:
    """The search for a caller that is left ends."""
    base = costs_of({"f": 5, "g": 6}, [("f", "g", 1, 6), ("g", "f", 1, 5)])

    assert () == inlinings(difference(base, costs_of({"h": 11})))
