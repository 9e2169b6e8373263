"""Causes in short texts."""

from __future__ import annotations

from fractions import Fraction

import attrs
import pytest

from instruction_counts.analysis.attribution.causes import top_causes
from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.analysis.verdicts.shared_causes import shared_causes
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.outcomes import FunctionCosts
from instruction_counts.report.causes import table, text, texts
from tests.builders import costs_of
from tests.builders import difference as difference_of

FORWARD = Cause(
    CauseKind.PYTHON, "Linear.forward", 20, 30, where="torch/nn/modules/linear.py", line=130
)


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (FORWARD, "torch/nn/modules/linear.py:130 Linear.forward  20 → 30 bytecodes"),
        (
            Cause(CauseKind.PYTHON, "f", 20, 20, where="torch/a.py", line=9, edited=True),
            "torch/a.py:9 f  edited, 20 bytecodes as before",
        ),
        (Cause(CauseKind.PYTHON, "f", 0, 5, where="<generated>"), "<generated> f  0 → 5 bytecodes"),
        (Cause(CauseKind.OPERATOR, "aten::add", 1, 3), "+2 aten::add"),
        (
            Cause(CauseKind.OPERATOR, "aten::mul", 0, 1, backward=True),
            "+1 aten::mul (backward)",
        ),
        (Cause(CauseKind.LAYER, "kernels", 100, 131), "+31 kernels"),
        (Cause(CauseKind.NATIVE, "f", 9, 1, more_calls=Fraction(-2)), "-8 f (-2 calls)"),
        (Cause(CauseKind.NATIVE, "f", 1, 9, more_calls=Fraction(1, 2)), "+8 f (+0.5 calls)"),
    ],
)
def test_a_cause_says_what_people_can_open(cause: Cause, expected: str) -> None:
    """A function with its line, an operator, a layer."""
    assert expected == text(cause)


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        pytest.param(
            costs_of({"f": 1, "malloc": 31}, [("f", "malloc", 1, 31)]),
            costs_of({"f": 1, "malloc": 62}, [("f", "malloc", 2, 62)]),
            ("+31 malloc (+1 call)",),
            id="an allocation more",
        ),
        pytest.param(
            costs_of({"old": 10}),
            costs_of({"new": 30}),
            ("+30 new (new)", "-10 old (gone)"),
            id="functions that enter and leave",
        ),
        pytest.param(
            costs_of({"f": 10}, runs=10),
            costs_of({"f": 12}, runs=10),
            (),
            id="what rounds to nothing",
        ),
        pytest.param(
            costs_of({"0x4ac0": 900, "0x4b10": 50, "exported": 50}),
            costs_of({"at::native::add": 1000, "at::native::mul": 200}),
            ("+200 libtorch_cpu.so (no names in base)",),
            id="a library that is stripped on a side, as a whole",
        ),
        pytest.param(
            costs_of({"0x4ac0": 10, "at::native::add": 990}),
            costs_of({"0x4ac0": 10, "at::native::add": 1090}),
            ("+100 at::native::add",),
            id="a library of which few functions have no names",
        ),
        pytest.param(
            costs_of({"at::native::add": 990}),
            costs_of({"0x4ac0": 10, "at::native::add": 990}),
            ("+10 unnamed in libtorch_cpu.so (new)",),
            id="a function without a name, by its library",
        ),
    ],
)
def test_a_cause_says_what_happened(
    base: FunctionCosts, new: FunctionCosts, expected: tuple[str, ...]
) -> None:
    """In a few words, and where nothing is worth naming, nothing."""
    assert expected == texts(top_causes(difference(base, new)))


def test_an_edited_function_with_as_many_bytecodes_is_called_edited() -> None:
    """It is no change of 0 bytecodes; causes of the same cases are one."""
    edited = attrs.evolve(FORWARD, new=20, edited=True, interpreted=Fraction(9))
    causes = (edited, Cause(CauseKind.OPERATOR, "aten::t", 1, 2))
    cases = [
        attrs.evolve(difference_of(1000, 1010 + place, label=f"{place}"), causes=causes)
        for place in range(4)
    ]
    first, rest = table(shared_causes(cases)).rows

    assert (
        "torch/nn/modules/linear.py:130 Linear.forward (edited), aten::t" == first.cells[-1].value
    )
    assert ("A", 4) == (first.cells[0].value, first.cells[2].value)
    assert 1.0 == pytest.approx(first.cells[1].value + rest.cells[1].value)


@pytest.mark.parametrize(
    ("causes", "expected"),
    [
        ([(1, 3)] * 4, "aten::add (2 calls more)"),
        ([(1, 3), (1, 3), (1, 4), (1, 9)], "aten::add (+2 to +8 calls)"),
        ([(9, 1), (3, 1), (3, 1), (3, 1)], "aten::add (-2 to -8 calls)"),
    ],
)
def test_a_shared_cause_says_its_range(causes: list[tuple[int, int]], expected: str) -> None:
    """The smaller change first."""
    cases = [
        attrs.evolve(
            difference_of(1000, 1001, label=f"{place}"),
            causes=(Cause(CauseKind.OPERATOR, "aten::add", *both),),
        )
        for place, both in enumerate(causes)
    ]

    assert expected == table(shared_causes(cases)).rows[0].cells[-1].value
