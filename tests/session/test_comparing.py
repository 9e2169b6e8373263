"""Comparing sides, with fakes for the engines."""

from typing import TypeAlias

import attrs
import pytest

from instruction_counts.analysis.verdicts.comparison import Comparison, compare
from instruction_counts.analysis.verdicts.difference import Reason, Verdict
from instruction_counts.api.arguments import definitions_of
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.effects import Noise
from instruction_counts.domain.executed import Executed, PythonFunction
from instruction_counts.domain.outcomes import Output, TensorValue
from instruction_counts.execution.events import Silent
from instruction_counts.session import comparing
from instruction_counts.session.builds import BuildRunner
from instruction_counts.session.sides import LazyStore
from tests.builders import counted, executing, side
from tests.cores import lanes_of
from tests.fakes import OK, FakeEngine, failed, make_case, make_record
from tests.session.fakes import SETTINGS, fake_engines, runner_of

CASES = (make_case("a"), make_case("b"))
LABEL = ("a",)
GIVEN = definitions_of(CASES[:1])


def costing(base: int, new: int) -> dict[str, FakeEngine]:
    """Engines of two builds, on which case a costs so much."""
    return {
        "base": FakeEngine({LABEL: [counted(base)]}),
        "new": FakeEngine({LABEL: [counted(new)]}),
    }


def verified(
    used: dict[str, FakeEngine], layouts: dict[str, FakeEngine], number: int | None = 2
) -> Comparison:
    """Two builds on which a case was measured, and verified in so many layouts."""
    cases = CASES[:1]
    with fake_engines(used, layouts=layouts):
        runner = attrs.evolve(runner_of("base", "new"), kept=lanes_of(used, 0))
        measured = compare(*runner.run(runner.orders(cases)).sides.values())
        return comparing.verify(runner, cases, measured, number)


def test_what_layouts_moved_a_case_by_is_known_of_each_side() -> None:
    """The layout that it was measured in is one of them."""
    found = verified(costing(1000, 2000), costing(1500, 2000))
    noises = [made.records[CASES[0].key].noise for made in (found.base, found.new)]

    assert [Noise(layout_spread=1 / 3, layouts=2), Noise(layouts=2)] == noises


def test_what_children_move_a_case_by_is_known_where_it_is_more_than_assumed() -> None:
    """It is said of a later run that is compared as it is; what moves less, fresh servers may."""
    used = {
        "base": FakeEngine({LABEL: [*map(counted, (10_000, 10_030, 10_000, 10_000))]}),
        "new": FakeEngine({LABEL: [*map(counted, (10_050, 10_050, 10_055, 10_050))]}),
    }
    found = verified(used, {name: FakeEngine() for name in used}, number=None)
    noises = [made.records[CASES[0].key].noise for made in (found.base, found.new)]

    assert [Noise(layout_spread=30 / 10_030, layouts=3), None] == noises


UNCHANGED, EDITED, SHORTER = (("a", 7), ("a", 7)), (("a", 7), ("b", 8)), (("a", 8), ("b", 7))
LONGER = (("a", 7), ("a", 8))
Program: TypeAlias = tuple[tuple[str, int], tuple[str, int]]
"""The code of both sides, and the bytecodes that it executes."""


@pytest.mark.parametrize(
    ("program", "fresh", "verdict", "number"),
    [
        (UNCHANGED, (2000, 1000), Verdict.SAME, 5),
        (UNCHANGED, (1000, 2000), Verdict.WORSE, 5),
        # What executes other code is a change whatever layouts do: nothing starts for it.
        (EDITED, (1000, 2000), Verdict.WORSE, 0),
        # Where it executes less and costs more, memory may be why.
        (SHORTER, (1000, 2000), Verdict.WORSE, 5),
        (SHORTER, (2000, 1000), Verdict.AMBIGUOUS, 5),
        # And where the same code executes more of itself: a set of objects has another order.
        (LONGER, (1000, 2000), Verdict.WORSE, 5),
        (LONGER, (2000, 1000), Verdict.AMBIGUOUS, 5),
    ],
)
def test_what_children_call_changed_has_to_be_changed_in_fresh_servers(
    program: Program, fresh: tuple[int, int], verdict: Verdict, number: int
) -> None:
    """They alone move what lay in memory before the fork: two of each build count it then.

    The case costs more in each child of a server.
    """
    used = {}
    for name, count, (code, bytecodes) in zip(("base", "new"), (1000, 2000), program, strict=True):
        executed = Executed((PythonFunction("toy.py", 1, "f", code, bytecodes),), (), "3.11")
        used[name] = FakeEngine({LABEL: [executing(count, executed)]})
    layouts = costing(*fresh)
    (found,) = verified(used, layouts, number=None).differences
    asked = [[call.order.layout for call in made.calls] for made in layouts.values()]

    assert (verdict, number) == (found.verdict, len(found.layouts.new) if found.layouts else 0)
    assert [[1, 2] if number else []] * 2 == asked


def computing(*numbers: int) -> dict[str, FakeEngine]:
    """Engines of two builds, on which case a costs the same, and makes a tensor of so many rows."""
    made = ((TensorValue("z", (number,), "float32", "d", 0, ""),) for number in numbers)
    outcomes = (counted(1000, output=Output("i", tensors)) for tensors in made)
    return {
        name: FakeEngine({LABEL: [outcome]})
        for name, outcome in zip(("base", "new"), outcomes, strict=True)
    }


@pytest.mark.parametrize(
    ("fresh", "reason"),
    [
        ((2, 3), Reason.OUTPUT_DIFFERS),
        ((2, 4), Reason.IDENTICAL),
        ((3, 3), Reason.IDENTICAL),
    ],
)
def test_another_output_counts_only_where_fresh_servers_of_each_build_repeat_its_own(
    fresh: tuple[int, int], reason: Reason
) -> None:
    """What follows addresses, or the order of a set, may be another in every server."""
    (found,) = verified(computing(2, 3), computing(*fresh)).differences

    assert reason is found.reason


def judged(runner: BuildRunner) -> comparing.Compared:
    """What comes of measuring two builds."""
    request = comparing.ComparisonRequest(GIVEN)
    return comparing.measure_and_judge(
        *(runner, CASES, request), lambda sides: compare(*sides.values())
    )


def test_an_interrupt_leaves_what_was_settled_without_fresh_servers() -> None:
    """What only they can tell is as it was before it was verified."""
    # The first case costs more in each child; the second one in the first child alone.
    used = {
        name: FakeEngine({("a",): [counted(cost)], ("b",): [counted(cost), counted(1000)]})
        for name, cost in {"base": 1000, "new": 1003}.items()
    }
    interrupted = {name: FakeEngine({LABEL: [KeyboardInterrupt()]}) for name in used}
    runner = attrs.evolve(runner_of("base", "new"), kept=lanes_of(used, 0))
    with fake_engines(used, layouts=interrupted):
        measured = judged(runner)

    assert (True, False) == (measured.interrupted, measured.has_rest)
    assert [(0, "a"), (3, "b")] == [
        (0 if found.layouts is None else len(found.layouts.new), found.key.label[0])
        for found in measured.comparison.differences
    ]


def test_what_an_interrupt_kept_from_being_measured_is_not_missing() -> None:
    """Nobody knows what it costs: the comparison is of the other cases."""
    used = {"base": FakeEngine(), "new": FakeEngine({("b",): [KeyboardInterrupt()]})}
    with fake_engines(used):
        measured = judged(runner_of("base", "new"))

    assert (True, True) == (measured.interrupted, measured.has_rest)
    assert ["a"] == [found.key.label[0] for found in measured.comparison.differences]


@pytest.mark.parametrize(
    ("measured", "layouts", "is_verified"),
    [
        (("base",), None, False),
        (("new",), None, False),
        (("base", "new"), None, True),
        (("base", "new"), 0, False),
    ],
)
def test_suspects_are_counted_again_where_both_sides_are_measured(
    measured: tuple[str, ...], layouts: int | None, *, is_verified: bool
) -> None:
    """A stored count has one layout, and no build that could be counted in another."""
    costs = {"base": 1000, "new": 2000}
    builds = {facts.build.name: facts.build for facts in runner_of(*measured).facts}
    sides = {
        name: side(make_record("a", outcome=counted(count)), engine="fake")
        for name, count in costs.items()
    }
    request = comparing.ComparisonRequest(GIVEN, settings=SETTINGS, layouts=layouts, stores=False)
    with fake_engines(costing(**costs)), LazyStore("/nowhere/runs.db") as runs:
        base, new = (builds.get(name, sides[name]) for name in costs)
        found = comparing.compare_sides(
            *(base, new, request, runs, Silent()), lambda *_: runner_of(*measured)
        ).comparison

    assert [Verdict.WORSE] == [difference.verdict for difference in found.differences]
    assert (found.layouts > 0) is is_verified


# Counting again

A, B = ({case.key: OK.instructions.per_run} for case in CASES)


def counts(layouts: int | None, fresh: FakeEngine, kept: FakeEngine) -> list[dict[CaseKey, int]]:
    """The counts of two cases in some layouts of one build."""
    runner = attrs.evolve(runner_of("base"), kept=lanes_of({"base": kept}, 0))
    with fake_engines({"base": fresh}):
        (found,) = comparing.recount(runner, CASES, layouts).counts
    return found


@pytest.mark.parametrize(
    ("asked", "number", "by_fresh", "by_kept"),
    [(2, 2, [1, 1, 2, 2], []), (1, 1, [1, 1], []), (None, 3, [], [1, 2, 3, 1, 2, 3])],
)
def test_each_layout_has_its_counts(
    asked: int | None, number: int, by_fresh: list[int], by_kept: list[int]
) -> None:
    """In servers of their own where it is said how many; else in those that are there."""
    fresh, kept = FakeEngine(), FakeEngine()

    assert [A | B] * number == counts(asked, fresh, kept)
    assert [by_fresh, by_kept] == [
        [call.order.layout for call in engine.calls] for engine in (fresh, kept)
    ]
    assert not kept.closed.is_set()


def test_a_case_that_fails_in_a_layout_has_no_count_there() -> None:
    """It has one in the other."""
    assert [B, A | B] == counts(2, FakeEngine({("a",): [failed(), OK]}), FakeEngine())
