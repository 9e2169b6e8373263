"""What happens when a budget of time is used up."""

from __future__ import annotations

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
BUILDS = (BUILD, Build("new", "/usr/bin/python3"))


def orders(names: str = NAMES, builds: tuple[Build, ...] = (BUILD,)) -> list[WorkOrder]:
    """Orders for these cases, each on every build in turn."""
    return [WorkOrder(CASES[name], build) for name in names for build in builds]


def carried_out(
    limit_s: float, builds: tuple[Build, ...] = (BUILD,)
) -> tuple[list[str], dict[tuple[str, str], Outcome]]:
    """What started, in this order, and all outcomes; each look at the clock takes a second."""
    engines = {build.name: FakeEngine() for build in builds}
    budget = Budget(limit_s, clock=FakeClock())
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
    """The first are measured, the others skipped with the reason."""
    started, outcomes = carried_out(3.5)

    assert ["a", "b", "c"] == started
    assert {("d", "default"), ("e", "default"), ("f", "default")} == {
        name for name, outcome in outcomes.items() if outcome.skipped_by_budget == "3.5 s"
    }


def test_a_case_that_started_is_measured_on_all_builds() -> None:
    """Half of a comparison would be none."""
    _, outcomes = carried_out(2.5, builds=BUILDS)
    measured = [name for name, outcome in outcomes.items() if outcome.status is Status.OK]

    assert [("a", "default"), ("a", "new"), ("b", "default"), ("b", "new")] == measured
    assert 12 == len(outcomes)
