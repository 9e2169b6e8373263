"""Causes in short texts."""

from fractions import Fraction

import attrs
import pytest

from instruction_counts.analysis.verdicts.comparison import shared_causes
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.report.causes import of_case, tables, text
from tests.builders import LONGER_FORWARD, difference

NATIVE = Cause(CauseKind.NATIVE, "malloc", 31, 62, where="libc.so.6")


@pytest.mark.parametrize(
    ("cause", "expected"),
    [
        (Cause(CauseKind.PYTHON, "f", 0, 5, where="<generated>"), "<generated> f  0 → 5 bytecodes"),
        (
            Cause(CauseKind.CUDA, "cudaStreamSynchronize", 1, 2, where="synchronisations"),
            "+1 cudaStreamSynchronize",
        ),
        (attrs.evolve(NATIVE, more_calls=Fraction(1)), "+31 malloc (+1 call)"),
        (attrs.evolve(NATIVE, more_calls=Fraction(-2)), "+31 malloc (-2 calls)"),
        (attrs.evolve(NATIVE, more_calls=Fraction(1, 2)), "+31 malloc (+0.5 calls)"),
        (attrs.evolve(NATIVE, more_calls=Fraction(10, 3)), "+31 malloc (+3.33 calls)"),
        (attrs.evolve(NATIVE, new=None), "-31 malloc (gone)"),
        (attrs.evolve(NATIVE, nameless_in="base"), "+31 malloc (no names in base)"),
        (attrs.evolve(NATIVE, name="???"), "+31 unnamed in libc.so.6"),
    ],
)
def test_a_cause_says_what_people_can_open(cause: Cause, expected: str) -> None:
    """A function with its place, and what is to say of its calls, or of its names."""
    assert expected == text(cause)


def test_an_edited_function_with_as_many_bytecodes_is_called_edited() -> None:
    """It is no change of 0 bytecodes; causes of the same cases are one."""
    edited = attrs.evolve(LONGER_FORWARD, new=20, edited=True, interpreted=Fraction(9))
    causes = (edited, Cause(CauseKind.OPERATOR, "aten::t", 1, 2))
    cases = [difference(1000, 1010 + n, label=f"{n}", causes=causes) for n in range(4)]
    first, rest = tables(shared_causes(cases))[0].rows

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
    added = [Cause(CauseKind.OPERATOR, "aten::add", *both) for both in causes]
    cases = [difference(1000, 1001, label=f"{n}", causes=(one,)) for n, one in enumerate(added)]

    assert expected == tables(shared_causes(cases))[0].rows[0].cells[-1].value


def test_a_case_has_three_causes_at_most() -> None:
    """Those that lead the comparison by letter and name, each where the case has it."""
    own = [Cause(CauseKind.NATIVE, name, 1, 9) for name in "xyz"]
    cases = [difference(1000, 1100, label=f"{n}", causes=(LONGER_FORWARD,)) for n in range(4)]
    shared = shared_causes(cases)

    assert ("A Linear.forward", "+8 x", "+8 y") == of_case(
        attrs.evolve(cases[0], causes=(LONGER_FORWARD, *own)), shared
    )
    # What comes first in the case stays first.
    assert ("+8 x", "A Linear.forward", "+8 y") == of_case(
        attrs.evolve(cases[0], causes=(own[0], LONGER_FORWARD, *own[1:])), shared
    )


def test_a_leading_cause_is_named_by_what_the_case_has_of_it() -> None:
    """Of causes that nearly the same cases share, one case may lack the first."""
    added = Cause(CauseKind.OPERATOR, "aten::add", 1, 3)
    each = [(LONGER_FORWARD, added)] * 5 + [(added,)]
    cases = [difference(1000, 1100, label=f"{n}", causes=one) for n, one in enumerate(each)]
    first, *_, last = (of_case(case, shared_causes(cases)) for case in cases)

    assert (("A Linear.forward",), ("A aten::add",)) == (first, last)


def test_a_leading_cause_is_not_named_by_what_goes_against_the_case() -> None:
    """A function that costs more is no reason for one that got better, another of them is."""
    slower, inlined = (
        Cause(CauseKind.NATIVE, name, 20, 20 + change) for name, change in (("sum", 4), ("v", -13))
    )
    longer = attrs.evolve(slower, new=2000)
    cases = [difference(1000, 991, label=f"{n}", causes=(slower, inlined)) for n in range(4)]
    cases.insert(0, difference(1000, 2967, label="large", causes=(longer, inlined)))
    shared = shared_causes(cases)

    assert ["A sum", "A v"] == [of_case(case, shared)[0] for case in (cases[0], cases[-1])]
