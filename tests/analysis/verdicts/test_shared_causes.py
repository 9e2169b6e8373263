"""The few causes that explain most of a comparison."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.analysis.verdicts.comparison import SharedCauses, is_changed, shared_causes
from instruction_counts.analysis.verdicts.difference import Difference, Verdict
from instruction_counts.domain.causes import Cause, CauseKind
from instruction_counts.domain.metrics import BYTECODES
from tests.builders import LONGER_FORWARD, counted, difference

CONTIGUOUS = Cause(CauseKind.OPERATOR, "aten::contiguous", 0, 1)


def native(name: str, change: int) -> Cause:
    """A native function that costs so much more."""
    return Cause(CauseKind.NATIVE, name, 1000, 1000 + change, where="libtorch_cpu.so")


def case(label: str, change: int, *causes: Cause, verdict: Verdict = Verdict.WORSE) -> Difference:
    """A case that changed for these causes."""
    return difference(10_000, 10_000 + change, label=label, verdict=verdict, causes=causes)


CAUSES = st.lists(
    st.builds(native, st.sampled_from("abcd"), st.integers(-9, 9).filter(bool))
    | st.builds(
        lambda name, new, part: Cause(
            CauseKind.PYTHON, name, 20, new, where="torch/x.py", interpreted=Fraction(part)
        ),
        st.sampled_from("pq"),
        st.integers(20, 30),
        st.integers(-9, 9),
    ),
    max_size=4,
    unique_by=lambda cause: (cause.kind, cause.name),
)
CASES = st.lists(st.tuples(st.integers(-99, 99), CAUSES, st.sampled_from(Verdict)), max_size=8).map(
    lambda drawn: [
        case(f"case {place}", change, *causes, verdict=verdict)
        for place, (change, causes, verdict) in enumerate(drawn)
    ]
)


def leading(cases: list[Difference]) -> list[tuple[list[str], int, float | None]]:
    """The causes that lead: the names, the number of cases and the share of each."""
    return [
        (
            [member.first.name for member in cause.members],
            len(cause.keys),
            None if cause.share is None else round(cause.share, 3),
        )
        for cause in shared_causes(cases).leading
    ]


def test_what_explains_most_comes_first_and_each_cause_is_counted_once() -> None:
    """Native functions by their own code, Python functions by their part of the interpreter's."""
    cases = [
        *(
            case(f"lock {n}", -600, native("lock", -400), native(f"own {n}", -200))
            for n in range(5)
        ),
        *(case(f"python {n}", 400, LONGER_FORWARD) for n in range(2)),
    ]

    assert [(["lock"], 5, 0.526), (["Linear.forward"], 2, 0.158)] == leading(cases)


def test_causes_of_nearly_the_same_cases_stand_together() -> None:
    """Those that people can open come first; one that goes the other way stands alone."""
    causes = (LONGER_FORWARD, CONTIGUOUS, native("f", 90), native("less", -40))
    cases = [case(f"{n}", 500, *causes[: 4 if n else 3]) for n in range(5)]

    assert [
        (["Linear.forward", "aten::contiguous", "f"], 5, 0.78),
        (["less"], 4, -0.064),
    ] == leading(cases)


def test_causes_that_stand_together_are_placed_by_what_they_explain_together() -> None:
    """Not by the largest of them."""
    two = (native("f", 200), native("g", 150))
    cases = [case(f"{n}", 500, *(two if n % 2 else (native("lock", 250),))) for n in range(6)]

    assert [(["f", "g"], 3, 0.35), (["lock"], 3, 0.25)] == leading(cases)


def test_few_changed_cases_say_their_causes_themselves() -> None:
    """A list above them would be no shorter."""
    few = shared_causes([case(f"{n}", 40, LONGER_FORWARD) for n in range(3)])

    assert ((), 1, 1) == (few.leading, few.others, len(few.every))


def test_no_more_than_so_many_are_told() -> None:
    """The number of the others is."""
    cases = [case(f"{name} {n}", 100, native(name, 10)) for name in "abcdefg" for n in range(2)]
    found = shared_causes(cases)

    assert (5, 2, 7) == (len(found.leading), found.others, len(found.every))


def test_without_costs_of_native_functions_shares_are_not_known() -> None:
    """Cases are counted all the same."""
    cases = [case(f"{n}", 40, CONTIGUOUS) for n in range(4)]

    assert [(["aten::contiguous"], 4, None)] == leading(cases)


@given(CASES)
def test_no_instruction_is_counted_twice(cases: list[Difference]) -> None:
    """What is explained adds up to what the causes of changed cases cost."""
    found = shared_causes(cases)
    changed = [case for case in cases if is_changed(case)]
    members = [member for cause in found.leading for member in cause.members]
    signs = {case.key: ((case.change or 0) > 0) - ((case.change or 0) < 0) for case in changed}

    assert len(members) == len({member.first.identity for member in members})
    for shared in found.every:
        mine = [
            (case.key, cause)
            for case in changed
            for cause in case.causes
            if cause.identity == shared.first.identity
        ]
        assert {key for key, _ in mine} == shared.causes.keys()
        assert shared.explained == sum(cause.instructions * signs[key] for key, cause in mine)
    assert all(len(shared.causes) > 1 for shared in found.every)


def test_what_is_the_same_but_for_a_metric_has_no_share() -> None:
    """Its count moved by noise alone, which would be explained by whatever stands there."""
    cases = [case(f"{n}", 100, native("f", 60)) for n in range(4)]
    base, new = (
        counted(count, metrics={BYTECODES.name: more})
        for count, more in ((9_000_000, 5), (8_900_000, 6))
    )
    mine = (native("f", 60),)
    noisy = difference(base, new, label="noisy", verdict=Verdict.SAME, causes=mine)

    assert is_changed(noisy)
    assert [(["f"], 5, 0.6)] == leading([*cases, noisy])


@pytest.mark.parametrize("verdict", [Verdict.SAME, Verdict.ADDED])
def test_cases_that_did_not_change_take_part_in_nothing(verdict: Verdict) -> None:
    """What moved in them is below what is reported."""
    cases = [case(f"{n}", 2, native("f", 2), verdict=verdict) for n in range(5)]

    assert SharedCauses() == shared_causes(cases)
