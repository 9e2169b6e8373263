"""What changed a case, in the order in which people look for it."""

from __future__ import annotations

import pytest
from hypothesis import given

from instruction_counts.analysis.attribution.causes import causes_of_case, inlinings, top_causes
from instruction_counts.analysis.attribution.executed_changes import (
    ExecutedChanges,
    OperatorChange,
    PythonChange,
)
from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.domain.causes import CauseKind
from instruction_counts.domain.outcomes import FunctionCost, FunctionCosts
from instruction_counts.report.causes import texts
from tests.analysis.attribution.made import costs
from tests.builders import CPU, costs_of

FORWARD = PythonChange("torch/nn/modules/linear.py", 130, "Linear.forward", 20, 30, edited=True)
CONTIGUOUS = OperatorChange("aten::contiguous", backward=False, base=0, new=1)


def side(evaluate: int, add: int) -> FunctionCosts:
    """What a function of the interpreter and one of torch cost."""
    return FunctionCosts(
        1,
        (
            FunctionCost("libpython3.11.so.1.0", "???", "evaluate", evaluate),
            FunctionCost(CPU, "???", "add", add),
        ),
    )


NATIVE = difference(side(100, 100), side(900, 107))


@pytest.mark.parametrize(
    ("executed", "native", "expected"),
    [
        (
            ExecutedChanges((FORWARD,), (CONTIGUOUS,)),
            NATIVE,
            {
                "Linear.forward": CauseKind.PYTHON,
                "aten::contiguous": CauseKind.OPERATOR,
                "add": CauseKind.NATIVE,
            },
        ),
        # The interpreter's functions are named where no Python function changed.
        (
            ExecutedChanges((), (CONTIGUOUS,)),
            NATIVE,
            {
                "aten::contiguous": CauseKind.OPERATOR,
                "evaluate": CauseKind.NATIVE,
                "add": CauseKind.NATIVE,
            },
        ),
        (ExecutedChanges((FORWARD,)), None, {"Linear.forward": CauseKind.PYTHON}),
    ],
)
def test_what_people_can_open_comes_first(
    executed: ExecutedChanges, native: object, expected: dict[str, CauseKind]
) -> None:
    """Functions before operators, and these before native functions, which need not be known."""
    found = causes_of_case(executed, native)  # type: ignore[arg-type]

    assert list(expected.items()) == [(cause.name, cause.kind) for cause in found]


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
    ("base", "new", "expected"),
    [
        ({"???": 26, "f": 74}, {"g": 90}, ("library", "base")),
        ({"g": 90}, {"???": 26, "f": 74}, ("library", "new")),
        ({"???": 50, "f": 50}, {"???": 30, "f": 74}, ("library", "both")),
        ({"???": 25, "f": 75}, {"???": 25, "f": 90}, ("native function", "")),
    ],
)
def test_a_library_without_names_is_one_cause(
    base: dict[str, int], new: dict[str, int], expected: tuple[str, str]
) -> None:
    """Where more than a quarter of it has none: nothing there has a match on the other side."""
    (cause,) = top_causes(difference(costs_of(base), costs_of(new)))

    assert expected == (cause.kind.value, cause.nameless_in)


# Inlining


@given(costs(), costs())
def test_moves_tell_each_function_once(base: FunctionCosts, new: FunctionCosts) -> None:
    """So that no change is reported twice."""
    moves = inlinings(difference(base, new))
    reported = [key for move in moves for key in (move.caller, *move.functions)]

    assert len(set(reported)) == len(reported)


BELOW = [("caller", "below", 1, 20)]
APART = costs_of(
    {"caller": 100, "callee": 30, "below": 20},
    [("caller", "callee", 1, 50), ("callee", "below", 1, 20)],
)
INLINED = costs_of({"caller": 125, "below": 20}, BELOW)


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        (APART, INLINED, ("-5 caller (callee inlined)",)),
        (INLINED, APART, ("+5 caller (callee no longer inlined)",)),
        # Its caller has to cost about as much more.
        (APART, costs_of({"caller": 101, "below": 20}, BELOW), ("-30 callee (gone)", "+1 caller")),
        # However many are inlined into each other.
        (
            costs_of({"f": 100, "g": 30, "h": 20}, [("f", "g", 1, 50), ("g", "h", 1, 20)]),
            costs_of({"f": 145}, [("f", "f", 0, 0)]),
            ("-5 f (g and 1 more inlined)",),
        ),
        # Which of several callers has it is not known.
        (
            costs_of({"f": 10, "g": 10, "h": 20}, [("f", "h", 1, 10), ("g", "h", 1, 10)]),
            costs_of({"f": 20, "g": 21}),
            ("-20 h (gone)", "+11 g", "+10 f"),
        ),
        # The search for a caller that is left ends.
        (
            costs_of({"f": 5, "g": 6}, [("f", "g", 1, 6), ("g", "f", 1, 5)]),
            costs_of({"h": 11}),
            ("+11 h (new)", "-6 g (gone)", "-5 f (gone)"),
        ),
    ],
)
def test_a_function_that_is_inlined_on_one_side_is_one_change_with_its_caller(
    base: FunctionCosts, new: FunctionCosts, expected: tuple[str, ...]
) -> None:
    """The caller did not get dearer, and the callee is not gone."""
    assert expected == texts(top_causes(difference(base, new)))
