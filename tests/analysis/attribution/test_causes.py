"""What changed a case, in the order in which people look for it."""

from typing import Any

import attrs
import pytest

from instruction_counts.analysis.attribution import causes
from instruction_counts.analysis.attribution.functions import FunctionDifference, difference
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.executed import (
    CudaCalls,
    CudaKind,
    Executed,
    OperatorCalls,
    PythonFunction,
)
from instruction_counts.domain.outcomes import FunctionCost, FunctionCosts
from instruction_counts.report.causes import texts
from tests.builders import CPU, FORWARD, costs_of

EDITED = Cause(CauseKind.PYTHON, "Linear.forward", 20, 30, where="linear.py", edited=True)
CONTIGUOUS = Cause(CauseKind.OPERATOR, "aten::contiguous", 0, 1)


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
        # What the interpreter costs more is shared by the Python functions, and not named as well.
        (
            [EDITED, CONTIGUOUS],
            NATIVE,
            [("Linear.forward", 800), ("aten::contiguous", 0), ("add", 7)],
        ),
        (
            [EDITED, attrs.evolve(EDITED, name="same", new=20), CONTIGUOUS],
            difference(side(100, 100), side(1200, 100)),
            [("Linear.forward", 1000), ("same", 100), ("aten::contiguous", 0)],
        ),
        ([CONTIGUOUS], NATIVE, [("aten::contiguous", 0), ("evaluate", 800), ("add", 7)]),
    ],
)
def test_what_people_can_open_comes_first(
    executed: list[Cause], native: FunctionDifference, expected: list[tuple[str, int]]
) -> None:
    """Functions before operators, and these before native functions; with their instructions."""
    found = causes.causes_of_case(executed, native)

    assert expected == [(cause.name, cause.instructions) for cause in found]


def test_the_largest_changes_are_the_causes() -> None:
    """Whichever their sign, and no more than three."""
    found = difference(
        costs_of({"a": 100, "b": 100, "c": 100, "d": 100}),
        costs_of({"a": 130, "b": 60, "c": 101, "d": 1312}),
    )

    assert [("d", 1212), ("b", -40), ("a", 30)] == [
        (cause.name, cause.change) for cause in causes.top_causes(found)
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
    (cause,) = causes.top_causes(difference(costs_of(base), costs_of(new)))

    assert expected == (cause.kind.value, cause.nameless_in)


# What is executed

CALL = PythonFunction("torch/nn/modules/module.py", 1520, "Module._call_impl", "cc", 40)
ADD = OperatorCalls("aten::add", backward=False, calls=1)
BASE = Executed((CALL, FORWARD), (ADD,), "3.11")
LAMBDAS = (attrs.evolve(FORWARD, name="<lambda>"), attrs.evolve(FORWARD, name="<lambda>", line=9))
PLACE = "torch/nn/modules/linear.py:130 Linear.forward"


def changed(**fields: Any) -> Executed:
    """With other fields of `Linear.forward`."""
    return attrs.evolve(BASE, functions=(CALL, attrs.evolve(FORWARD, **fields)))


def on_cuda(*asked: tuple[CudaKind, str, int]) -> Executed:
    """With what is asked of CUDA."""
    return attrs.evolve(BASE, cuda=tuple(CudaCalls(*each) for each in asked))


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        # It may have executed anything.
        *((*sides, ()) for sides in ((BASE, BASE), (None, BASE), (BASE, None), (None, None))),
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
        # Of what is asked of CUDA, waiting comes first.
        (
            on_cuda((CudaKind.LAUNCH, "at::fill<float>(int)", 1)),
            on_cuda(
                (CudaKind.SYNCHRONISATION, "cudaStreamSynchronize", 1),
                (CudaKind.LAUNCH, "at::fill<float>(int)", 3),
            ),
            ("a synchronisation appeared: cudaStreamSynchronize", "+2 launch of fill"),
        ),
        # Bytecodes of two versions of Python are not held against each other.
        (BASE, attrs.evolve(changed(bytecodes=30), python="3.13", operators=()), ("-1 aten::add",)),
    ],
)
def test_what_changed_is_named_as_people_open_it(
    base: Executed | None, new: Executed | None, expected: tuple[str, ...]
) -> None:
    """Functions with file and line, operators with their calls."""
    assert expected == texts(causes.executed_changes(base, new))


def test_edited_functions_come_before_what_they_call_more_often() -> None:
    """The cause before its consequence; and before what is new."""
    more_calls = attrs.evolve(CALL, bytecodes=400)
    edited = attrs.evolve(FORWARD, bytecodes=21, digest="bb")
    added = attrs.evolve(FORWARD, name="added", bytecodes=900)
    found = causes.executed_changes(BASE, attrs.evolve(BASE, functions=(more_calls, edited, added)))

    assert [(change.name, change.edited) for change in found] == [
        ("Linear.forward", True),
        ("added", False),
        ("Module._call_impl", False),
    ]
