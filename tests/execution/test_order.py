"""The order of work, what is remembered for it, and budgets of time."""

from __future__ import annotations

import functools
import itertools
from pathlib import Path

import pytest

from instruction_counts.domain.build import Build
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.domain.work import WorkOrder
from instruction_counts.execution.events import Finished, Started
from instruction_counts.execution.order import (
    Budget,
    longest_first,
    note_durations,
    read_durations,
)
from instruction_counts.execution.scheduler import execute
from tests.cores import lanes_of
from tests.fakes import BUILD, FakeClock, FakeEngine, make_case, together

NAMES = "abcdef"
CASES = {name: make_case(name, stmt=name) for name in NAMES}
HASHES = {name: case.definition_hash for name, case in CASES.items()}
BUILDS = (BUILD, Build("new", "/usr/bin/python3"))


def orders(names: str = NAMES, builds: tuple[Build, ...] = (BUILD,)) -> list[WorkOrder]:
    """Orders for these cases, each on every build in turn."""
    return [WorkOrder(CASES[name], build) for name in names for build in builds]


def names_of(found: list[WorkOrder]) -> str:
    """The cases, each once."""
    return "".join(name for name, _ in itertools.groupby(order.case.label[0] for order in found))


@pytest.mark.parametrize(
    ("given", "known", "expected"),
    [
        ("ab", {"a": 0.5, "b": 30.0}, "ba"),
        ("acb", {"a": 0.5, "b": 30.0}, "cba"),
        ("abc", {}, "abc"),
    ],
    ids=["long first", "what may have to be compiled first", "as defined"],
)
def test_long_cases_come_before_short_ones(
    given: str, known: dict[str, float], expected: str
) -> None:
    """So that the lanes end together."""
    durations_s = {HASHES[name]: seconds for name, seconds in known.items()}

    assert expected == names_of(longest_first(orders(given), durations_s))


# Durations


def test_durations_of_two_runs_at_the_same_time_are_all_noted(tmp_path: Path) -> None:
    """Neither writes over what the other one found; newer ones replace older ones."""
    path = tmp_path / "durations.json"
    note_durations(path, {"a 0": 9.0})

    def note(name: str) -> None:
        for number in range(20):
            note_durations(path, {f"{name} {number}": 1.0})

    together(*(functools.partial(note, name) for name in "ab"))

    expected = {f"{name} {number}": 1.0 for name in "ab" for number in range(20)}
    assert expected == read_durations(path)


@pytest.mark.parametrize(
    "content",
    [
        *("", "[1]", '{"a": "x"}', '{"a": null}', "\x00", "[" * 10_000),
        *('{"a": NaN}', f'{{"a": 1{"0" * 400}}}'),
    ],
    ids=lambda content: content[:12],
)
def test_a_damaged_file_is_no_knowledge(tmp_path: Path, content: str) -> None:
    """It costs an order of work, and no run."""
    path = tmp_path / "durations.json"
    path.write_text(content)

    assert {} == read_durations(path)
    note_durations(Path("/proc/durations.json"), {"a": 1.0})  # nor does one that cannot be written


# Budgets


def carried_out(
    limit_s: float, builds: tuple[Build, ...] = (BUILD,)
) -> tuple[str, dict[str, Outcome]]:
    """What started, in this order, and all outcomes; each look at the clock takes a second."""
    engines = {build.name: FakeEngine() for build in builds}
    budget = Budget(limit_s, clock=FakeClock())
    events = list(execute(orders(builds=builds), lanes_of(engines, 0), budget=budget))
    return (
        "".join(event.order.case.label[0] for event in events if isinstance(event, Started)),
        {
            f"{event.order.case.label[0]} {event.order.build.name}": event.outcome
            for event in events
            if isinstance(event, Finished)
        },
    )


def test_nothing_starts_when_the_budget_is_used_up() -> None:
    """The first are measured, the others skipped with the reason."""
    started, outcomes = carried_out(3.5)

    assert "abc" == started
    assert {"d default", "e default", "f default"} == {
        name for name, outcome in outcomes.items() if outcome.skipped_by_budget == "3.5 s"
    }


def test_a_case_that_started_is_measured_on_all_builds() -> None:
    """Half of a comparison would be none."""
    _, outcomes = carried_out(2.5, builds=BUILDS)
    measured = [name for name, outcome in outcomes.items() if outcome.status is Status.OK]

    assert ["a default", "a new", "b default", "b new"] == measured
    assert 12 == len(outcomes)
