"""The order within a budget of time, and what happens when it is used up."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import attrs
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.domain.build import Build
from instruction_counts.domain.durations import span
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.domain.work import WorkOrder
from instruction_counts.execution.budget import Budget, Priorities, most_likely_first
from instruction_counts.execution.events import Finished, Started
from instruction_counts.execution.scheduler import execute
from tests.cores import PoolOfItsOwn
from tests.fakes import BUILD, FakeClock, FakeEngine, make_case

NAMES = "abcdef"
CASES = {name: make_case(name, stmt=name) for name in NAMES}
HASHES = {name: case.definition_hash for name, case in CASES.items()}
FUNCTIONS = ("f", "g", "h", "i")


def orders(names: str = NAMES, builds: tuple[Build, ...] = (BUILD,)) -> list[WorkOrder]:
    """Orders for these cases, each on every build in turn."""
    return [WorkOrder(CASES[name], build) for name in names for build in builds]


def order_of(found: list[WorkOrder]) -> str:
    """The cases, each once."""
    return "".join(name for name, _ in itertools.groupby(order.case.label[0] for order in found))


def knowledge() -> st.SearchStrategy[Priorities]:
    """Whatever can be known."""
    hashes = st.sampled_from(sorted(HASHES.values()))
    functions = st.frozensets(st.sampled_from(FUNCTIONS))
    return st.builds(
        Priorities,
        st.dictionaries(hashes, st.integers(0, 3)),
        st.dictionaries(hashes, functions),
        st.frozensets(hashes),
        st.dictionaries(hashes, st.floats(0, 100)),
        functions,
    )


@given(knowledge(), st.permutations(NAMES))
def test_nothing_is_lost_or_torn_apart(priorities: Priorities, names: list[str]) -> None:
    """Each order is there once, and those of one case follow each other in their order."""
    builds = (BUILD, Build("new", "/usr/bin/python3"))
    waiting = orders("".join(names), builds)
    found = most_likely_first(waiting, priorities)

    assert sorted(order_of(found)) == sorted(NAMES)
    assert [build.name for build in builds] * len(NAMES) == [order.build.name for order in found]


@given(knowledge(), st.permutations(NAMES))
def test_what_moved_more_often_comes_first(priorities: Priorities, names: list[str]) -> None:
    """Whatever else is known."""
    found = most_likely_first(orders("".join(names)), priorities)
    moved = [priorities.moves.get(order.case.definition_hash, 0) for order in found]

    assert sorted(moved, reverse=True) == moved


@given(knowledge(), st.permutations(NAMES))
def test_what_is_new_comes_before_what_was_steady(priorities: Priorities, names: list[str]) -> None:
    """Nobody knows what it does."""
    alone = attrs.evolve(priorities, moves={}, changed=frozenset())
    found = most_likely_first(orders("".join(names)), alone)
    known = [order.case.definition_hash in priorities.known for order in found]

    assert sorted(known) == known


@given(knowledge(), st.permutations(NAMES))
def test_what_is_as_likely_is_ordered_by_its_duration(
    priorities: Priorities, names: list[str]
) -> None:
    """So that as many cases as possible fit; what is not known may have to be compiled."""
    alone = Priorities(known=frozenset(HASHES.values()), durations_s=priorities.durations_s)
    found = most_likely_first(orders("".join(names)), alone)
    durations = [alone.durations_s.get(order.case.definition_hash, float("inf")) for order in found]

    assert sorted(durations) == durations


@given(knowledge())
def test_ordering_again_changes_nothing(priorities: Priorities) -> None:
    """Lanes order what waits again and again."""
    found = most_likely_first(orders(), priorities)

    assert found == most_likely_first(found, priorities)


def executing(**functions: str) -> Priorities:
    """Known cases that execute these functions, one a letter."""
    return Priorities(
        functions={HASHES[name]: frozenset(text) for name, text in functions.items()},
        known=frozenset(HASHES.values()),
    )


@pytest.mark.parametrize(
    ("changed", "expected"), [("", "abcdef"), ("g", "cabdef"), ("fg", "cbdaef"), ("x", "abcdef")]
)
def test_what_executes_a_changed_function_comes_first(changed: str, expected: str) -> None:
    """A function that few cases execute says more; one that most execute says nothing."""
    priorities = executing(a="x", b="xf", c="xg", d="xf", e="x", f="x")

    assert expected == order_of(
        most_likely_first(orders(), attrs.evolve(priorities, changed=frozenset(changed)))
    )


def test_what_is_learnt_meanwhile_changes_the_order_of_the_rest() -> None:
    """A suspect tells where the next ones may be."""
    budget = Budget(60, executing(a="x", b="x", c="xg", d="xf"))
    before = order_of(budget.in_order(orders("abcd")))
    budget.learn(["g"])

    assert "abcd" == before
    assert "cabd" == order_of(budget.in_order(orders("abcd")))


def test_what_was_known_before_is_nothing_new() -> None:
    """So that nothing is ordered again because of it."""
    budget = Budget(60, Priorities(changed=frozenset("fg")))
    before = budget.priorities
    budget.learn("f")

    assert budget.priorities is before


# In lanes


@attrs.define
class CountingBudget(Budget):
    """Counts how often waiting orders are sorted, and how often it is asked for the time left."""

    sorts: int = 0
    looks: int = 0

    @property
    def is_used_up(self) -> bool:
        """Counted, and as ever."""
        self.looks += 1
        return self._clock() >= self._end

    def in_order(self, orders: Sequence[WorkOrder]) -> list[WorkOrder]:
        """Counted, and as ever."""
        self.sorts += 1
        return most_likely_first(orders, self.priorities)


def test_what_is_learnt_sorts_the_rest_once_more() -> None:
    """Before the next case is taken, and not for each: that takes minutes of ten thousand."""
    budget = CountingBudget(1000, executing(a="x", b="x", c="x", d="x", e="x", f="xg"))
    engine = FakeEngine(during=lambda _: budget.learn("g"))
    events = execute(orders(), {BUILD.name: engine}, PoolOfItsOwn(0), 1, budget=budget)
    started = [event.order.case.label[0] for event in events if isinstance(event, Started)]

    assert 2 == budget.sorts
    assert list("afbcde") == started


def test_all_that_waits_is_left_out_at_once_when_the_budget_is_used_up() -> None:
    """Not one by one, with a look at the clock and a sort for each."""
    budget = CountingBudget(0, clock=FakeClock())
    events = [*execute(orders(), {BUILD.name: FakeEngine()}, PoolOfItsOwn(0), 1, budget=budget)]

    assert 1 == budget.looks
    assert list(NAMES) == [event.order.case.label[0] for event in events]


def carried_out(
    limit_s: float, engine: FakeEngine | None = None, builds: tuple[Build, ...] = (BUILD,)
) -> tuple[list[str], dict[tuple[str, str], Outcome]]:
    """What started, in this order, and all outcomes; each look at the clock takes a second."""
    engines = {build.name: engine or FakeEngine() for build in builds}
    priorities = Priorities(moves={HASHES["d"]: 1}, known=frozenset(HASHES.values()))
    budget = Budget(limit_s, priorities, clock=FakeClock())
    events = list(execute(orders(builds=builds), engines, PoolOfItsOwn(0), 1, budget=budget))
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
    builds = (BUILD, Build("new", "/usr/bin/python3"))
    _, outcomes = carried_out(2.5, builds=builds)
    measured = [name for name, outcome in outcomes.items() if outcome.status is Status.OK]

    assert [("d", "default"), ("d", "new"), ("a", "default"), ("a", "new")] == measured
    assert 12 == len(outcomes)


def test_within_the_budget_nothing_is_left_out() -> None:
    """A budget that suffices costs nothing."""
    started, outcomes = carried_out(1000)

    assert 6 == len(started)
    assert [] == [outcome for outcome in outcomes.values() if outcome.skipped_by_budget]


def test_what_is_skipped_for_another_reason_is_not_left_out() -> None:
    """What a build cannot run stays a case that was skipped."""
    assert "" == Outcome(Status.SKIPPED).skipped_by_budget
    assert "60 s" == Outcome.out_of_time(60).skipped_by_budget


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(60, "60 s"), (90, "90 s"), (2.5, "2.5 s"), (600, "10 min"), (3600, "1 h"), (5400, "90 min")],
)
def test_a_budget_is_written_as_people_write_it(seconds: float, text: str) -> None:
    """In the largest unit that is even."""
    assert text == span(seconds)
