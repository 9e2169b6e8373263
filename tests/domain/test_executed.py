"""What one iteration executes, and what tells two sides apart."""

from __future__ import annotations

import attrs

from instruction_counts.domain.executed import Executed, OperatorCalls, PythonFunction

FORWARD = PythonFunction("torch/nn/modules/linear.py", 130, "Linear.forward", "aa", 20)
ADD = OperatorCalls("aten::add", backward=False, calls=2)
EXECUTED = Executed((FORWARD, attrs.evolve(FORWARD, name="g")), (ADD,), "3.11")


def with_function(**changes: object) -> Executed:
    """The same, but for the first function."""
    assert EXECUTED.functions is not None
    return attrs.evolve(
        EXECUTED, functions=(attrs.evolve(FORWARD, **changes), *EXECUTED.functions[1:])
    )


def test_bytecodes_of_all_functions_add_up() -> None:
    """The statement's own included."""
    assert EXECUTED.bytecodes == 40


def test_cpp_has_no_bytecodes() -> None:
    """None is not zero."""
    assert Executed(None, (ADD,)).bytecodes is None


def test_calls_of_all_operators_add_up() -> None:
    """Forward and backward."""
    twice = attrs.evolve(EXECUTED, operators=(ADD, attrs.evolve(ADD, backward=True)))

    assert twice.operator_calls == 4


def test_the_order_of_functions_has_no_part_in_digests() -> None:
    """Nor has the order in which they were seen."""
    assert EXECUTED.functions is not None
    backwards = attrs.evolve(EXECUTED, functions=EXECUTED.functions[::-1])

    assert backwards.digests == EXECUTED.digests


def test_a_function_that_moved_in_its_file_is_the_same() -> None:
    """An edit above it is none of it."""
    assert with_function(line=140).digests == EXECUTED.digests


def test_more_bytecodes_give_another_digest() -> None:
    """Of bytecodes."""
    assert with_function(bytecodes=21).digests.bytecodes != EXECUTED.digests.bytecodes


def test_an_edit_that_executes_as_much_has_another_digest_of_code() -> None:
    """While the bytecodes are as many."""
    edited = with_function(digest="bb").digests

    assert edited.bytecodes == EXECUTED.digests.bytecodes
    assert edited.code != EXECUTED.digests.code


def test_other_calls_give_another_digest_of_operators() -> None:
    """The direction counts, too."""
    backward = attrs.evolve(EXECUTED, operators=(attrs.evolve(ADD, backward=True),))

    assert backward.digests.operators != EXECUTED.digests.operators
