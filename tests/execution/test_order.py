"""The order of work, what is remembered for it, and budgets of time."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from instruction_counts.core.types import Language
from instruction_counts.domain.build import Build
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.work import WorkOrder
from instruction_counts.execution.events import Finished
from instruction_counts.execution.scheduler import (
    execute,
    longest_first,
    note_durations,
    read_durations,
)
from tests.cores import lanes_of
from tests.fakes import BUILD, OK, FakeClock, FakeEngine, make_case

CASES = {name: make_case(name, stmt=name) for name in "abcdef"}
HASHES = {name: case.definition_hash for name, case in CASES.items()}


@pytest.mark.parametrize(
    ("given", "known", "expected", "in_budget"),
    [
        ("ab", {"a": 0.5, "b": 30.0}, "ba", "ab"),
        ("acb", {"a": 0.5, "b": 30.0}, "cba", "abc"),
        ("acb", {}, "acb", "acb"),
    ],
    ids=["long first", "what may have to be compiled first", "as defined"],
)
def test_long_cases_come_before_short_ones(
    given: str, known: dict[str, float], expected: str, in_budget: str
) -> None:
    """So that the lanes end together; the other way round, as many as possible fit in a budget."""
    durations_s = {HASHES[name]: seconds for name, seconds in known.items()}
    orders = [WorkOrder(CASES[name], BUILD) for name in given]
    found = [
        "".join(
            order.case.label[0] for order in longest_first(orders, durations_s, in_budget=is_so)
        )
        for is_so in (False, True)
    ]

    assert [expected, in_budget] == found


@pytest.mark.parametrize(("in_budget", "expected"), [(False, "bca"), (True, "acb")])
def test_cpp_comes_last_but_not_in_a_budget(*, in_budget: bool, expected: str) -> None:
    """It is compiled meanwhile; in a budget it is not certain that its turn comes."""
    cpp = make_case("a", language=Language.CPP)
    durations_s = {HASHES["b"]: 9.0, HASHES["c"]: 5.0, cpp.definition_hash: 1.0}
    orders = [WorkOrder(case, BUILD) for case in (cpp, CASES["c"], CASES["b"])]
    found = longest_first(orders, durations_s, in_budget=in_budget)

    assert expected == "".join(order.case.label[0] for order in found)


def test_durations_of_two_runs_at_the_same_time_are_all_noted(tmp_path: Path) -> None:
    """Neither writes over what the other one found; newer ones replace older ones."""
    path = tmp_path / "durations.json"
    note_durations(path, {"a 0": 9.0})

    def note(name: str) -> None:
        for number in range(20):
            note_durations(path, {f"{name} {number}": 1.0})

    with ThreadPoolExecutor(2) as threads:
        [*threads.map(note, "ab")]

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


@pytest.mark.parametrize(("budget_s", "measured"), [(0, ""), (6.5, "ab"), (100, "abcdef")])
def test_nothing_starts_when_the_budget_is_used_up(budget_s: float, measured: str) -> None:
    """A case that started is measured on all builds: half of a comparison would be none.

    Each look at the clock takes a second: one for a case, and two for each of its builds.
    """
    builds = (BUILD, Build("new", "/usr/bin/python3"))
    orders = [WorkOrder(case, build) for case in CASES.values() for build in builds]
    lanes = lanes_of({build.name: FakeEngine() for build in builds}, 0)
    events = execute(orders, lanes, clock=FakeClock(), budget_s=budget_s)
    found = {event.order: event.outcome for event in events if isinstance(event, Finished)}
    skipped = Outcome.out_of_time(budget_s)

    assert orders == [*found]
    for order, outcome in found.items():
        is_measured = order.case.label[0] in measured
        assert (OK.instructions if is_measured else None) == outcome.instructions
        assert ("" if is_measured else skipped.skipped_by_budget) == outcome.skipped_by_budget
