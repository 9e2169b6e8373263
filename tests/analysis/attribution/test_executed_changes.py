"""What changed in what one iteration executes."""

from __future__ import annotations

from typing import Any

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
LAMBDAS = (attrs.evolve(FORWARD, name="<lambda>"), attrs.evolve(FORWARD, name="<lambda>", line=9))
PLACE = "torch/nn/modules/linear.py:130 Linear.forward"


def changed(**fields: Any) -> Executed:
    """With other fields of `Linear.forward`."""
    return attrs.evolve(BASE, functions=(CALL, attrs.evolve(FORWARD, **fields)))


@pytest.mark.parametrize("sides", [(BASE, BASE), (None, BASE), (BASE, None), (None, None)])
def test_nothing_changes_between_equal_sides_or_where_one_is_not_known(
    sides: tuple[Executed | None, Executed | None],
) -> None:
    """It may have executed anything."""
    assert executed_changes(*sides) == ExecutedChanges()


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        (BASE, changed(bytecodes=30, digest="bb"), (f"{PLACE}  20 → 30 bytecodes",)),
        # It can cost other instructions.
        (BASE, changed(digest="bb"), (f"{PLACE}  edited, 20 bytecodes as before",)),
        # The line is that of the file that is there now; an edit above it is none of it.
        (
            BASE,
            changed(bytecodes=30, line=140),
            (f"{PLACE.replace('130', '140')}  20 → 30 bytecodes",),
        ),
        (BASE, changed(line=140), ()),
        (attrs.evolve(BASE, functions=(CALL,)), BASE, (f"{PLACE}  0 → 20 bytecodes",)),
        # Functions of one name in one file can trade places.
        (
            attrs.evolve(BASE, functions=LAMBDAS),
            attrs.evolve(BASE, functions=tuple(attrs.evolve(f, line=7) for f in LAMBDAS[::-1])),
            (),
        ),
        # Operators of the backward pass are apart.
        (
            BASE,
            attrs.evolve(
                BASE, operators=(attrs.evolve(ADD, calls=3), OperatorCalls("aten::mul", True, 1))
            ),
            ("+2 aten::add", "+1 aten::mul (backward)"),
        ),
        # Bytecodes of two versions of Python are not held against each other.
        (
            BASE,
            attrs.evolve(changed(bytecodes=30), python="3.13", operators=()),
            ("-1 aten::add",),
        ),
    ],
)
def test_what_changed_is_named_as_people_open_it(
    base: Executed, new: Executed, expected: tuple[str, ...]
) -> None:
    """Functions with file and line, operators with their calls."""
    assert expected == texts(causes_of_case(executed_changes(base, new)))


def test_edited_functions_come_before_what_they_call_more_often() -> None:
    """The cause before its consequence; and before what is new."""
    more_calls = attrs.evolve(CALL, bytecodes=400)
    edited = attrs.evolve(FORWARD, bytecodes=21, digest="bb")
    added = attrs.evolve(FORWARD, name="added", bytecodes=900)
    found = executed_changes(BASE, attrs.evolve(BASE, functions=(more_calls, edited, added)))

    assert [(change.name, change.edited) for change in found.functions] == [
        ("Linear.forward", True),
        ("added", False),
        ("Module._call_impl", False),
    ]


def test_all_that_either_side_executes_can_be_asked_for() -> None:
    """What changed first, then the largest."""
    functions = executed_on_both(BASE, changed(bytecodes=21)).functions

    assert [("Linear.forward", 1), ("Module._call_impl", 0)] == [
        (change.name, change.delta) for change in functions
    ]
