"""The verdict on a case: what counts as a change, and what as noise."""

from __future__ import annotations

from typing import Any

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.types import AutogradMode, CaseKey, Language, RuntimeMode
from instruction_counts.analysis.verdicts.changes import Program
from instruction_counts.analysis.verdicts.difference import (
    Difference,
    Layouts,
    Reason,
    Verdict,
    is_suspect,
    judge,
    judge_verified,
)
from instruction_counts.analysis.verdicts.outputs import OutputDifference, TensorDifference
from instruction_counts.domain.effects import MIN_EFFECT, Effect
from instruction_counts.domain.metrics import BYTECODES, OPERATOR_CALLS, Amounts
from instruction_counts.domain.noise import Noise, Origin
from instruction_counts.domain.outcomes import Instructions, Outcome, Status, Window
from instruction_counts.domain.records import Record
from tests.fakes import failed, make_record

KEY = CaseKey(("add",), Language.CPP, RuntimeMode.EAGER, AutogradMode.FORWARD, 1)
STEADY = Noise(0.0, 0.0, 4)
COUNT = st.integers(1, 10**9)


def record(count: int, *, exact: bool = True, spread: int = 0, **changes: Any) -> Record:
    """A case that cost ``count`` instructions."""
    counted = Instructions(count, exact, (Window(1, count),), spread)
    made = make_record("add", outcome=Outcome(Status.OK, counted), language=Language.CPP)
    return attrs.evolve(made, **changes)


def judged(base: int, new: int, **options: Any) -> Difference:
    """The verdict on two counts of a case that no layout moves."""
    return judge(KEY, record(base, noise=STEADY), record(new), **options)


def said(difference: Difference) -> tuple[Verdict, Reason]:
    """The verdict and its reason."""
    return difference.verdict, difference.reason


@given(COUNT)
def test_equal_counts_are_the_same(count: int) -> None:
    """Whatever the noise."""
    assert (Verdict.SAME, Reason.IDENTICAL) == said(judged(count, count))


@given(COUNT, COUNT)
def test_a_better_case_is_worse_the_other_way_round(base: int, new: int) -> None:
    """Unless it is one of those that say the same in both directions."""
    none = Effect(0.0, 1)
    there, back = (judged(*pair, min_effect=none).verdict for pair in ((base, new), (new, base)))

    opposite = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}
    assert back == opposite.get(there, there)


@pytest.mark.parametrize(
    ("base", "new", "verdict"), [(10_000, 10_100, Verdict.WORSE), (10_100, 10_000, Verdict.BETTER)]
)
def test_more_instructions_are_worse_and_fewer_better(
    base: int, new: int, verdict: Verdict
) -> None:
    """By an exact difference, where all windows agree."""
    assert (verdict, Reason.EXACT_DIFFERENCE) == said(judged(base, new))


@pytest.mark.parametrize(("base", "new"), [(1_000_000, 1_000_499), (1000, 1002)])
def test_less_than_the_minimum_effect_is_the_same(base: int, new: int) -> None:
    """It has to be reached in relative and in absolute terms."""
    assert (Verdict.SAME, Reason.BELOW_MIN_EFFECT) == said(judged(base, new))


def test_the_minimum_effect_itself_is_a_change() -> None:
    """The smallest change of interest is of interest."""
    assert Verdict.WORSE is judged(10_000, 10_100, min_effect=Effect(0.01, 100)).verdict


@pytest.mark.parametrize(
    ("new", "expected"),
    [(1080, (Verdict.SAME, Reason.WITHIN_NOISE)), (1081, (Verdict.WORSE, Reason.BEYOND_NOISE))],
)
def test_what_windows_disagree_by_is_noise(new: int, expected: tuple[Verdict, Reason]) -> None:
    """Of either side; beyond it is a change, but not one to the instruction."""
    difference = judge(KEY, record(1000, exact=False, spread=80, noise=STEADY), record(new))

    assert expected == said(difference)
    assert 80 == difference.noise


def test_what_layouts_were_seen_to_move_is_ambiguous() -> None:
    """A single layout cannot tell a change from another layout."""
    difference = judge(KEY, record(10_000), record(10_100, noise=Noise(0.0, 0.01, 4)))

    assert (Verdict.AMBIGUOUS, Reason.NOT_VERIFIED) == said(difference)


@pytest.mark.parametrize(
    ("language", "change", "verdict"),
    [
        (Language.CPP, 10, Verdict.AMBIGUOUS),
        (Language.CPP, 11, Verdict.WORSE),
        (Language.PYTHON, 100, Verdict.AMBIGUOUS),
        (Language.PYTHON, 101, Verdict.WORSE),
    ],
)
def test_without_knowledge_layouts_move_what_they_usually_do(
    language: Language, change: int, verdict: Verdict
) -> None:
    """That is more for Python."""
    key = attrs.evolve(KEY, language=language)

    difference = judge(key, record(100_000), record(100_000 + change), min_effect=Effect(0.0, 1))

    assert verdict is difference.verdict


def test_a_selftest_without_layouts_says_nothing_of_them() -> None:
    """Zero spread over zero layouts is no knowledge."""
    least, unknown = Effect(0.0, 1), Noise(0.0, 0.0, 0)
    difference = judge(KEY, record(100_000, noise=unknown), record(100_010), min_effect=least)

    assert Verdict.AMBIGUOUS is difference.verdict


@pytest.mark.parametrize(
    ("spread", "noise", "origin"),
    [
        (0, None, Origin.ASSUMED),
        (0, Noise(0.0, 0.001, 4), Origin.LAYOUTS),
        (0, Noise(0.002, 0.001, 4), Origin.SERVERS),
        (90, Noise(0.002, 0.001, 4), Origin.WINDOWS),
    ],
)
def test_a_noise_floor_says_where_it_comes_from(
    spread: int, noise: Noise | None, origin: Origin
) -> None:
    """The largest of what is known of the case; what nobody measured is assumed."""
    difference = judge(KEY, record(10_000, spread=spread), record(11_000, noise=noise))

    assert origin is difference.noise_origin


@pytest.mark.parametrize(
    ("base", "new", "reason"),
    [
        (None, record(1), (Verdict.NEW, Reason.ONLY_IN_NEW)),
        (record(1), None, (Verdict.MISSING, Reason.ONLY_IN_BASE)),
        (record(1), record(1, outcome=failed()), (Verdict.FAILED, Reason.FAILED_IN_NEW)),
        (record(1, outcome=failed()), record(1), (Verdict.FAILED, Reason.FAILED_IN_BASE)),
        (
            record(1, outcome=failed()),
            record(1, outcome=failed()),
            (Verdict.FAILED, Reason.FAILED_IN_BOTH),
        ),
        (
            record(1),
            record(1, definition_hash="0" * 16),
            (Verdict.INCOMPARABLE, Reason.DEFINITION_CHANGED),
        ),
        (
            record(1),
            record(1, outcome=Outcome(Status.OK)),
            (Verdict.INCOMPARABLE, Reason.NOT_COUNTED),
        ),
        (
            record(1),
            record(1, outcome=Outcome(Status.SKIPPED)),
            (Verdict.INCOMPARABLE, Reason.SKIPPED),
        ),
        (
            record(1, outcome=failed()),
            record(1, outcome=Outcome(Status.SKIPPED)),
            (Verdict.FAILED, Reason.FAILED_IN_BASE),
        ),
    ],
)
def test_a_case_that_cannot_be_compared_says_why(
    base: Record | None, new: Record | None, reason: tuple[Verdict, Reason]
) -> None:
    """It is a row, and never the end of a comparison."""
    assert reason == said(judge(KEY, base, new))


def test_fingerprints_can_forbid_to_compare() -> None:
    """Another allocator, say."""
    difference = judged(1, 1, comparable=False)

    assert (Verdict.INCOMPARABLE, Reason.FINGERPRINT_DIFFERS) == said(difference)


def test_faster_because_wrong_is_not_better() -> None:
    """The output decides before the count does."""
    wrong = OutputDifference(differs=True, tensors=(TensorDifference("z", "shape"),))

    assert (Verdict.INCOMPARABLE, Reason.OUTPUT_DIFFERS) == said(judged(1000, 10, output=wrong))


@pytest.mark.parametrize(("new", "suspect"), [(10_000, False), (10_004, False), (10_005, True)])
def test_a_change_of_interest_is_a_suspect(new: int, suspect: bool) -> None:
    """Whatever is said of it before it is counted again."""
    assert suspect is is_suspect(judged(10_000, new), MIN_EFFECT)


def test_equal_counts_are_no_suspect() -> None:
    """Also where every change is of interest."""
    assert not is_suspect(judged(10_000, 10_000), Effect(0, 0))


def test_a_change_within_the_windows_is_a_suspect() -> None:
    """Several layouts can tell what windows cannot."""
    difference = judge(KEY, record(1000, exact=False, spread=80, noise=STEADY), record(1040))

    assert is_suspect(difference, MIN_EFFECT)


@pytest.mark.parametrize("other", [None, record(1, outcome=failed())])
def test_what_was_not_counted_is_no_suspect(other: Record | None) -> None:
    """Counting again would not help."""
    assert not is_suspect(judge(KEY, record(1000), other), MIN_EFFECT)


AMBIGUOUS = Verdict.AMBIGUOUS, Reason.LAYOUT_ONLY


@given(COUNT, st.integers(1000, 10**6))
def test_a_change_in_every_layout_is_verified(base: int, change: int) -> None:
    """Where layouts move neither side, it is exact."""
    new = base + change + base // 10
    difference = judge_verified(judged(base, new), Layouts((base,) * 3, (new,) * 3))

    assert (Verdict.WORSE, Reason.EXACT_DIFFERENCE) == said(difference)
    assert 0 == difference.noise


@given(st.lists(COUNT, min_size=4, max_size=4), st.permutations(range(4)))
def test_the_same_counts_in_other_layouts_are_no_change(counts: list[int], order: Any) -> None:
    """Two builds of the same code differ by which layout they happen to have."""
    other = [counts[place] for place in order]
    layouts = Layouts(tuple(counts[1:]), tuple(other[1:]))
    difference = judge_verified(judged(counts[0], other[0]), layouts, Effect(0.0, 1))

    assert difference.verdict in {Verdict.SAME, Verdict.AMBIGUOUS}


@pytest.mark.parametrize(
    ("base", "new", "expected", "noise"),
    [
        # Although every count of new is above every count of base.
        ((10_000, 10_050, 10_100, 10_020), 10_200, (Verdict.AMBIGUOUS, Reason.LAYOUT_ONLY), 100),
        ((10_000, 10_050, 10_100, 10_020), 10_300, (Verdict.WORSE, Reason.BEYOND_LAYOUTS), 100),
    ],
)
def test_a_change_has_to_be_beyond_what_layouts_move_either_side_by(
    base: tuple[int, ...], new: int, expected: tuple[Verdict, Reason], noise: int
) -> None:
    """Else it stays open."""
    difference = judge_verified(judged(base[0], new), Layouts(base[1:], (new,) * 3))

    assert expected == said(difference)
    assert noise == difference.noise


OVERLAPPING = Layouts((10_030, 10_070, 9_990), (10_080, 10_020, 10_110))


@pytest.mark.parametrize(
    ("steady_change", "expected", "change"),
    [
        (51, (Verdict.WORSE, Reason.STEADY_PART), 51),
        (-51, (Verdict.BETTER, Reason.STEADY_PART), -51),
        # Too small to be of interest.
        (2, AMBIGUOUS, 45),
        (0, AMBIGUOUS, 45),
        (None, AMBIGUOUS, 45),
    ],
)
def test_what_layouts_move_hides_no_other_change(
    steady_change: int | None, expected: tuple[Verdict, Reason], change: int
) -> None:
    """In functions that they do not move, or move by less."""
    layouts = attrs.evolve(OVERLAPPING, steady_change=steady_change)
    difference = judge_verified(judged(10_000, 10_040), layouts)

    assert expected == said(difference)
    assert change == difference.change


@pytest.mark.parametrize(
    ("program", "steady_change", "new", "expected"),
    [
        (Program.SAME, 0, (10_080, 10_020, 10_110), (Verdict.SAME, Reason.LAYOUT_FUNCTIONS)),
        # What is executed is not known, or what functions cost.
        (Program.UNKNOWN, 0, (10_080, 10_020, 10_110), AMBIGUOUS),
        (Program.SAME, None, (10_080, 10_020, 10_110), AMBIGUOUS),
        # Every count of new lies above every count of base.
        (Program.SAME, 0, (10_080, 10_090, 10_110), AMBIGUOUS),
    ],
)
def test_the_same_program_whose_functions_cost_what_layouts_make_of_them_is_the_same(
    program: Program,
    steady_change: int | None,
    new: tuple[int, ...],
    expected: tuple[Verdict, Reason],
) -> None:
    """There is nothing that a change could be in."""
    layouts = attrs.evolve(OVERLAPPING, new=new, steady_change=steady_change)
    suspect = attrs.evolve(judged(10_000, 10_075), program=program)

    assert expected == said(judge_verified(suspect, layouts))


def test_a_change_seen_once_is_not_reported() -> None:
    """In all other layouts it is gone."""
    difference = judge_verified(judged(10_000, 10_300), Layouts((10_000,) * 3, (10_000,) * 3))

    assert Verdict.SAME is difference.verdict


def test_the_change_of_a_verified_case_is_the_median() -> None:
    """Over all layouts, the first included."""
    difference = judge_verified(
        judged(10_000, 10_300), Layouts((10_000,) * 4, (10_310, 10_320, 10_330, 9))
    )

    assert 310 == difference.change


def test_the_change_is_relative_to_base() -> None:
    """Ten more than a hundred are ten per cent."""
    assert 0.1 == judged(100, 110).relative


def test_a_case_on_one_side_has_no_change() -> None:
    """There is nothing to subtract."""
    difference = judge(KEY, record(1), None)

    assert difference.change is None
    assert difference.relative is None


# What both sides executed


def by_program(program: Program, base: int, new: int, more: int = 0, spread: int = 0) -> Difference:
    """The verdict on two counts of a case that executes ``more`` bytecodes and operators in new."""
    records = []
    for count, executed in ((base, 100), (new, 100 + more)):
        made = record(
            count, spread=spread, exact=not spread, noise=Noise(layout_spread=0.01, layouts=4)
        )
        metrics = Amounts({BYTECODES.name: executed, OPERATOR_CALLS.name: executed})
        records.append(attrs.evolve(made, outcome=attrs.evolve(made.outcome, metrics=metrics)))
    return judge(KEY, *records, program=program)


PROGRAMS = pytest.mark.parametrize(
    ("program", "reason"),
    [
        (Program.PYTHON_DIFFERS, Reason.PYTHON_DIFFERS),
        (Program.OPERATORS_DIFFER, Reason.OPERATORS_DIFFER),
    ],
)


@PROGRAMS
def test_another_program_is_a_change_within_noise(program: Program, reason: Reason) -> None:
    """No layout adds a bytecode."""
    assert (Verdict.WORSE, reason) == said(by_program(program, 100_000, 100_080, more=6))


@PROGRAMS
def test_a_change_that_goes_both_ways_is_ambiguous(program: Program, reason: Reason) -> None:
    """More is executed in fewer instructions: layout moved some of them."""
    assert (Verdict.AMBIGUOUS, reason) == said(by_program(program, 100_000, 99_920, more=6))


@PROGRAMS
def test_another_program_is_the_reason_beyond_noise(program: Program, reason: Reason) -> None:
    """Counts tell which way it goes."""
    assert (Verdict.BETTER, reason) == said(by_program(program, 100_000, 90_000, more=6))


def test_the_same_program_leaves_the_verdict_to_counts() -> None:
    """Native code may be another one."""
    found = by_program(Program.SAME, 100_000, 100_080)

    assert (Verdict.AMBIGUOUS, Reason.NOT_VERIFIED) == said(found)


def test_another_program_need_not_be_verified() -> None:
    """Layouts cannot have done it."""
    assert not is_suspect(by_program(Program.PYTHON_DIFFERS, 100_000, 100_080, more=6), MIN_EFFECT)


def test_layouts_do_not_hide_another_program() -> None:
    """They were counted before it was clear which way it goes."""
    difference = by_program(Program.PYTHON_DIFFERS, 100_000, 99_920, more=6)
    found = judge_verified(difference, Layouts((100_000, 100_500), (100_080, 100_700)))

    assert (Verdict.WORSE, Reason.PYTHON_DIFFERS) == said(found)


def test_another_program_is_as_sure_as_what_was_counted_in_layouts() -> None:
    """Nothing else can be the cause."""
    assert by_program(Program.PYTHON_DIFFERS, 100_000, 100_080, more=6).verified
    assert not by_program(Program.PYTHON_DIFFERS, 100_000, 99_920, more=6).verified


@PROGRAMS
def test_windows_that_disagree_do_not_hide_another_program(
    program: Program, reason: Reason
) -> None:
    """They never disagree about a bytecode."""
    found = by_program(program, 100_000, 100_080, more=6, spread=500)

    assert (Verdict.WORSE, reason) == said(found)


def test_another_program_that_costs_too_little_is_the_same() -> None:
    """What is of interest is for the user to say."""
    found = by_program(Program.PYTHON_DIFFERS, 100_000, 100_010, more=1)

    assert (Verdict.SAME, Reason.BELOW_MIN_EFFECT) == said(found)
