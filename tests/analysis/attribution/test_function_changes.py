"""Sums of changes: by layer, by library, and over callers."""

from __future__ import annotations

from hypothesis import given

from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.domain.outcomes import FunctionCosts
from tests.analysis.attribution.made import change_of, costs
from tests.builders import costs_of


@given(costs(), costs())
def test_layers_and_libraries_add_up_to_the_same(base: FunctionCosts, new: FunctionCosts) -> None:
    """They are other ways to group the same functions."""
    found = difference(base, new)
    sums = [
        (sum(share.base for share in shares), sum(share.new for share in shares))
        for shares in (found.by_layer(), found.by_library())
    ]

    assert [(found.base, found.new)] * 2 == sums


def test_calls_into_a_function_are_summed_over_its_callers() -> None:
    """Per run, on each side."""
    base = costs_of({"f": 1, "g": 1, "malloc": 60}, [("f", "malloc", 9, 54), ("g", "malloc", 1, 6)])
    new = costs_of(
        {"f": 2, "g": 2, "malloc": 132}, [("f", "malloc", 18, 108), ("g", "malloc", 4, 24)], runs=2
    )
    change = change_of(difference(base, new), "malloc")

    assert 10 == change.base_calls
    assert 11 == change.new_calls
    assert 1 == change.more_calls


def test_calls_are_unknown_where_they_were_not_stored() -> None:
    """And then there is no change of calls."""
    base, new = costs_of({"f": 5}), costs_of({"g": 1, "f": 5}, [("g", "f", 1, 5)])
    change = change_of(difference(base, new), "f")

    assert change.base_calls is None
    assert 1 == change.new_calls
    assert 0 == change.more_calls


def test_callers_are_unknown_where_calls_were_not_stored() -> None:
    """A caller of one side alone would look as if it were new."""
    base, new = costs_of({"f": 5, "g": 1}), costs_of({"f": 6, "g": 1}, [("g", "f", 1, 6)])
    found = difference(base, new)

    assert () == found.callers(change_of(found, "f").key)
    assert [(None, 6, 0)] == [(call.base, call.new, call.delta) for call in found.calls]


def test_callers_are_reported_with_what_is_below_them() -> None:
    """On both sides, the largest change first, and without the function itself."""
    base = costs_of(
        {"f": 1, "g": 1, "h": 5}, [("f", "h", 1, 3), ("g", "h", 1, 3), ("h", "h", 1, 1)]
    )
    new = costs_of({"f": 1, "g": 1, "h": 5}, [("f", "h", 1, 3), ("g", "h", 2, 9)])
    found = difference(base, new)

    assert [("g", 1, 2, 3, 9), ("f", 1, 1, 3, 3)] == [
        (call.caller.name, call.base_calls, call.new_calls, call.base, call.new)
        for call in found.callers(change_of(found, "h").key)
    ]
