"""What changed a case, in the order in which people look for it."""

from __future__ import annotations

from hypothesis import given

from instruction_counts.analysis.attribution.causes import causes_of_case
from instruction_counts.analysis.attribution.executed_changes import (
    ExecutedChanges,
    OperatorChange,
    PythonChange,
)
from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.analysis.attribution.layers import Layer
from instruction_counts.domain.causes import CauseKind
from instruction_counts.domain.outcomes import FunctionCost, FunctionCosts
from tests.analysis.attribution.made import costs
from tests.builders import costs_of

FORWARD = PythonChange("torch/nn/modules/linear.py", 130, "Linear.forward", 20, 30, edited=True)
CONTIGUOUS = OperatorChange("aten::contiguous", backward=False, base=0, new=1)
PYTHON = "libpython3.11.so.1.0"


def side(**amounts: int) -> FunctionCosts:
    """What a function of the interpreter and one of torch cost."""
    libraries = {"evaluate": PYTHON, "add": "libtorch_cpu.so"}
    return FunctionCosts(
        1,
        tuple(
            FunctionCost(libraries[name], "???", name, amount) for name, amount in amounts.items()
        ),
    )


NATIVE = difference(side(evaluate=100, add=100), side(evaluate=900, add=107))


def test_functions_come_before_operators_and_these_before_native_functions() -> None:
    """What people can open comes first."""
    found = causes_of_case(ExecutedChanges((FORWARD,), (CONTIGUOUS,)), NATIVE)

    assert ["Linear.forward", "aten::contiguous", "add"] == [cause.name for cause in found]
    assert [CauseKind.PYTHON, CauseKind.OPERATOR, CauseKind.NATIVE] == [
        cause.kind for cause in found
    ]


def test_the_interpreter_carries_the_work_of_a_changed_python_function() -> None:
    """Its own functions are named where no Python function changed."""
    by_operators = causes_of_case(ExecutedChanges((), (CONTIGUOUS,)), NATIVE)

    assert ["aten::contiguous", "evaluate", "add"] == [cause.name for cause in by_operators]


def test_native_functions_need_not_be_known() -> None:
    """What is executed is."""
    assert ["Linear.forward"] == [
        cause.name for cause in causes_of_case(ExecutedChanges((FORWARD,)))
    ]


@given(costs(), costs())
def test_a_difference_can_do_without_any_layer(base: FunctionCosts, new: FunctionCosts) -> None:
    """Nothing refers to what was left out."""
    whole = difference(base, new)
    for layer in Layer:
        rest = whole.without(layer)
        assert layer not in {function.key.layer for function in rest.functions}
        assert whole.delta - rest.delta == sum(
            function.delta for function in whole.functions if function.key.layer is layer
        )
        causes_of_case(ExecutedChanges(), rest)


def test_calls_from_and_to_a_layer_go_with_it() -> None:
    """They would name functions that are not there."""
    calls = [("f", "malloc", 1, 31)]
    found = difference(costs_of({"f": 1, "malloc": 31}, calls), costs_of({"f": 2, "malloc": 31}))

    assert found.calls
    assert () == found.without(Layer.ALLOCATOR).calls
