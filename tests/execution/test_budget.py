"""The order within a budget of time, and what happens when it is used up."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.domain.build import Build
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.domain.work import WorkOrder
from instruction_counts.execution.events import Finished, Started
from instruction_counts.execution.order import Budget
from instruction_counts.execution.scheduler import execute
from tests.cores import lanes_of
from tests.fakes import BUILD, FakeClock, FakeEngine, make_case

NAMES = "abcdef"
CASES = {name: make_case(name, stmt=name) for name in NAMES}
HASHES = {name: case.definition_hash for name, case in CASES.items()}
BUILDS = (BUILD, Build("new", "/usr/bin/python3"))


def orders(names: str = NAMES, builds: tuple[Build, ...] = (BUILD,)) -> list[WorkOrder]:
    """Orders for these cases, each on every build in turn."""
    return [WorkOrder(CASES[name], build) for name in names for build in builds]


def order_of(found: list[WorkOrder]) -> str:
    """The cases, each once."""
    return "".join(name for name, _ in itertools.groupby(order.case.label[0] for order in found))


def budgets() -> st.SearchStrategy[Budget]:
    """Whatever can be known."""
    hashes = st.sampled_from(sorted(HASHES.values()))
    moves = st.dictionaries(hashes, st.integers(0, 3))
    durations = st.dictionaries(hashes, st.floats(0, 100))
    return st.builds(Budget, st.just(60), moves, st.frozensets(hashes), durations)


@given(budgets(), st.permutations(NAMES))
def test_nothing_is_lost_or_torn_apart(budget: Budget, names: list[str]) -> None:
    """Each order is there once, and those of one case follow each other in their order."""
    found = budget.in_order(orders("".join(names), BUILDS))

    assert sorted(order_of(found)) == sorted(NAMES)
    assert [build.name for build in BUILDS] * len(NAMES) == [order.build.name for order in found]


@pytest.mark.parametrize(
    ("moves", "known", "durations_s", "expected"),
    [
        ({}, "abcdef", {}, "abcdef"),
        ({"c": 1, "e": 2}, "abcdef", {"a": 0.1}, "ecabdf"),
        ({"c": 1}, "abc", {"a": 0.1}, "cdefab"),
        ({}, "abcdef", {"d": 2.0, "b": 1.0, "f": 3.0}, "bdface"),
    ],
    ids=["as defined", "moved most often", "never counted", "shortest"],
)
def test_what_most_likely_changed_comes_first(
    moves: dict[str, int], known: str, durations_s: dict[str, float], expected: str
) -> None:
    """What moved, then what nobody knows, then the rest; then as many as possible fit."""
    budget = Budget(
        60,
        {HASHES[name]: number for name, number in moves.items()},
        frozenset(HASHES[name] for name in known),
        {HASHES[name]: seconds for name, seconds in durations_s.items()},
    )

    assert expected == order_of(budget.in_order(orders()))


def carried_out(
    limit_s: float, builds: tuple[Build, ...] = (BUILD,)
) -> tuple[list[str], dict[tuple[str, str], Outcome]]:
    """What started, in this order, and all outcomes; each look at the clock takes a second."""
    engines = {build.name: FakeEngine() for build in builds}
    budget = Budget(limit_s, {HASHES["d"]: 1}, frozenset(HASHES.values()), clock=FakeClock())
    events = list(execute(orders(builds=builds), lanes_of(engines, 0), budget=budget))
    return (
        [event.order.title.split(" ")[0] for event in events if isinstance(event, Started)],
        {
            (event.order.case.label[0], event.order.build.name): event.outcome
            for event in events
            if isinstance(event, Finished)
        },
    )


def test_nothing_starts_when_the_budget_is_used_up() -> None:
    """The likeliest are measured, the others skipped with the reason."""
    started, outcomes = carried_out(3.5)

    assert ["d", "a", "b"] == started
    assert {("c", "default"), ("e", "default"), ("f", "default")} == {
        name for name, outcome in outcomes.items() if outcome.skipped_by_budget == "3.5 s"
    }


def test_a_case_that_started_is_measured_on_all_builds() -> None:
    """Half of a comparison would be none."""
    _, outcomes = carried_out(2.5, builds=BUILDS)
    measured = [name for name, outcome in outcomes.items() if outcome.status is Status.OK]

    assert [("d", "default"), ("d", "new"), ("a", "default"), ("a", "new")] == measured
    assert 12 == len(outcomes)
