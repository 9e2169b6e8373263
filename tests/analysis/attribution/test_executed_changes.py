"""What changed in what one iteration executes."""

from __future__ import annotations

import attrs
import pytest

from instruction_counts.analysis.attribution.causes import causes_of_case
from instruction_counts.analysis.attribution.executed_changes import (
    ExecutedChanges,
    executed_changes,
    executed_on_both,
)
from instruction_counts.domain.executed import Executed, OperatorCalls, PythonFunction
from instruction_counts.report.causes import texts

FORWARD = PythonFunction("torch/nn/modules/linear.py", 130, "Linear.forward", "aa", 20)
CALL = PythonFunction("torch/nn/modules/module.py", 1520, "Module._call_impl", "cc", 40)
ADD = OperatorCalls("aten::add", backward=False, calls=1)
BASE = Executed((CALL, FORWARD), (ADD,), "3.11")


def changes(new: Executed, base: Executed = BASE) -> tuple[str, ...]:
    """What people read."""
    return texts(causes_of_case(executed_changes(base, new)))


def with_forward(**fields: object) -> Executed:
    """Another `Linear.forward`."""
    return attrs.evolve(BASE, functions=(CALL, attrs.evolve(FORWARD, **fields)))


def test_nothing_changes_between_equal_sides() -> None:
    """Not even a line."""
    assert executed_changes(BASE, BASE) == ExecutedChanges()


@pytest.mark.parametrize("sides", [(None, BASE), (BASE, None), (None, None)])
def test_nothing_is_said_where_a_side_is_not_known(
    sides: tuple[Executed | None, Executed | None],
) -> None:
    """It may have executed anything."""
    assert executed_changes(*sides) == ExecutedChanges()


def test_a_changed_function_is_named_with_its_line() -> None:
    """As people open it."""
    text = "torch/nn/modules/linear.py:130 Linear.forward  20 → 30 bytecodes"

    assert (text,) == changes(with_forward(bytecodes=30, digest="bb"))


def test_the_line_is_that_of_new() -> None:
    """The file that is there now."""
    assert changes(with_forward(bytecodes=30, line=140))[0].startswith(
        "torch/nn/modules/linear.py:140 "
    )


def test_a_function_that_only_moved_did_not_change() -> None:
    """An edit above it is none of it."""
    assert changes(with_forward(line=140)) == ()


def test_an_edit_that_executes_as_much_is_reported() -> None:
    """It can cost other instructions."""
    text = "torch/nn/modules/linear.py:130 Linear.forward  edited, 20 bytecodes as before"

    assert (text,) == changes(with_forward(digest="bb"))


def test_a_new_function_had_no_bytecodes() -> None:
    """Nor has one that is gone."""
    assert changes(BASE, attrs.evolve(BASE, functions=(CALL,)))[0].endswith("0 → 20 bytecodes")


def test_edited_functions_come_before_what_they_call_more_often() -> None:
    """The cause before its consequence."""
    more_calls = attrs.evolve(CALL, bytecodes=400)
    edited = attrs.evolve(FORWARD, bytecodes=21, digest="bb")
    found = executed_changes(BASE, attrs.evolve(BASE, functions=(more_calls, edited)))

    assert [change.name for change in found.functions] == ["Linear.forward", "Module._call_impl"]


def test_functions_of_one_name_in_one_file_are_taken_together() -> None:
    """Lambdas can trade places."""
    both = (attrs.evolve(FORWARD, name="<lambda>"), attrs.evolve(FORWARD, name="<lambda>", line=9))
    swapped = tuple(attrs.evolve(function, line=function.line + 1) for function in both[::-1])
    sides = [attrs.evolve(BASE, functions=functions) for functions in (both, swapped)]

    assert changes(sides[1], sides[0]) == ()


def test_operators_are_named_with_their_calls() -> None:
    """More and fewer, those of the backward pass apart."""
    after = (
        attrs.evolve(ADD, calls=3),
        OperatorCalls("aten::mul", backward=True, calls=1),
    )

    assert changes(attrs.evolve(BASE, operators=after)) == (
        "+2 aten::add",
        "+1 aten::mul (backward)",
    )


def test_bytecodes_of_two_versions_of_python_are_not_held_against_each_other() -> None:
    """Operators are."""
    other = attrs.evolve(with_forward(bytecodes=30), python="3.13", operators=())

    assert changes(other) == ("-1 aten::add",)


def test_all_that_either_side_executes_can_be_asked_for() -> None:
    """What changed first, then the largest."""
    functions = executed_on_both(BASE, with_forward(bytecodes=21)).functions

    assert [("Linear.forward", 1), ("Module._call_impl", 0)] == [
        (change.name, change.delta) for change in functions
    ]
