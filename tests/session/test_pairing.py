"""Times of two builds in turns, with fakes for the engines."""

import math
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

import attrs
import pytest

from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.api.arguments import definitions_of
from instruction_counts.core.api import TimerArgs
from instruction_counts.core.expand import materialize
from instruction_counts.core.types import Case
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.domain.paired import PairedTimes
from instruction_counts.engines.engine import MeasureInTurns
from instruction_counts.execution.events import Silent
from instruction_counts.session.builds import BuildRunner
from instruction_counts.session.comparing import ComparisonRequest, compare_sides
from instruction_counts.session.pairing import timed_in_turns
from instruction_counts.session.sides import LazyStore
from instruction_counts.storage.store import Store
from tests.builders import counted
from tests.fakes import OK, FakeEngine, failed, make_case, paired_times
from tests.session.fakes import SETTINGS, WITH_GPU, Remarks, fake_engines, runner_of
from tests.storage.values import loaded

CASES = (make_case("a"), make_case("b"))
PAIRED = paired_times((1.25,) * 5, base_s=0.25)


def answering(*outcomes: Outcome | BaseException) -> MeasureInTurns:
    """What times two builds in turns, with these outcomes one after the other."""
    answers = list(outcomes)

    def measure(*_: object) -> Outcome:
        answer = answers.pop(0)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    return measure


def timed(
    in_turns: MeasureInTurns,
    runner: BuildRunner | None = None,
    observer: Remarks | None = None,
    engines: Mapping[str, FakeEngine] | None = None,
    end: float = math.inf,
    cases: Sequence[Case] = CASES,
) -> tuple[Mapping[str, Side], bool]:
    """The sides of a run, with their times, and whether it was interrupted."""
    runner = attrs.evolve(runner or runner_of("base", "new"), observer=observer or Remarks())
    with fake_engines(engines or {"base": FakeEngine(), "new": FakeEngine()}, in_turns=in_turns):
        measured = runner.run(runner.orders(cases))
        return timed_in_turns(runner, cases, measured.sides, end)


PAIR = Outcome(Status.OK, paired=PAIRED)


def outcomes_of(sides: Mapping[str, Side]) -> list[Outcome]:
    """What is known of each case: on base, then on new."""
    return [record.outcome for side in sides.values() for record in side.records.values()]


def pairs(sides: Mapping[str, Side]) -> list[PairedTimes | None]:
    """What was timed in turns, of the same."""
    return [outcome.paired for outcome in outcomes_of(sides)]


def test_both_builds_have_the_times_that_were_taken_in_turns(tmp_path: Path) -> None:
    """Each its own, and both the pair; what was counted of them stays.

    They are stored with the run: whoever compares the stored run finds the same.
    """
    with Store(tmp_path / "runs.db") as store:
        runner = runner_of("base", "new", recorder=store)
        sides, interrupted = timed(answering(PAIR, PAIR), runner)
        (summary,) = store.summaries()
        stored = loaded(store, summary.id)
    outcomes = outcomes_of(sides)

    assert not interrupted
    assert [PAIRED] * 4 == [record.outcome.paired for record in stored.cases]
    assert all(record.outcome.functions is not None for record in stored.cases)
    assert [0.25, 0.25, 0.3125, 0.3125] == [of.times and of.times.median_s for of in outcomes]
    assert [PAIRED] * 4 == pairs(sides)
    assert [OK.instructions] * 4 == [outcome.instructions for outcome in outcomes]


def test_one_case_is_timed_at_a_time() -> None:
    """However many lanes there are: what another core does moves times, too."""
    runner = runner_of("base", "new")
    runner = attrs.evolve(runner, settings=attrs.evolve(runner.settings, jobs=2, cores=None))
    timing, together = threading.Lock(), []

    def measure(*_: object) -> Outcome:
        is_alone = timing.acquire(blocking=False)
        together.append(not is_alone)
        time.sleep(0.05)
        if is_alone:
            timing.release()
        return PAIR

    timed(measure, runner)

    assert [False, False] == together


LITTLE, NOTHING = paired_times((1.02,) * 5), paired_times((1.0,) * 5)
SMALL, NONE = (Outcome(Status.OK, paired=paired) for paired in (LITTLE, NOTHING))


def test_a_small_difference_is_timed_again_in_fresh_servers() -> None:
    """Until one does not find it; what is far larger is not asked about again."""
    observer = Remarks()
    answers = [SMALL, SMALL, SMALL, NONE, SMALL, SMALL]
    sides, _ = timed(answering(*answers), observer=observer)

    again = [paired and paired.again for paired in pairs(sides)]
    assert [(LITTLE.ratios,) * 3, (NOTHING.ratios,)] * 2 == again
    expected = [f"Timing {number} again, in fresh servers" for number in ("2 cases", "1 case")]
    assert [*expected[:1], *expected[1:] * 2] == [
        note.partition(" (")[0] for note in observer.notes if "again" in note
    ]


@pytest.mark.parametrize(
    ("answers", "expected"),
    [((SMALL, PAIR), [LITTLE, PAIRED]), ((PAIR,), [PAIRED, None])],
    ids=["while it confirms", "before"],
)
def test_an_interrupt_leaves_the_times_that_there_are(
    answers: tuple[Outcome, ...], expected: list[PairedTimes | None]
) -> None:
    """Nothing that was measured is lost, and nothing is said of what is not confirmed."""
    sides, interrupted = timed(answering(*answers, KeyboardInterrupt()))

    assert interrupted
    assert expected * 2 == pairs(sides)
    assert LITTLE.is_unconfirmed


ONCE = attrs.evolve(CASES[0], timer_args=attrs.evolve(CASES[0].timer_args, kind="once"))


@pytest.mark.parametrize(
    ("first", "outcome"), [(CASES[0], failed()), (ONCE, OK)], ids=["failed", "once"]
)
def test_a_case_that_failed_on_a_build_or_runs_once_is_not_timed(
    first: Case, outcome: Outcome
) -> None:
    """There is nothing to compare; blocks of runs are, and a second run is another thing."""
    engines = {"base": FakeEngine({("a",): [outcome]}), "new": FakeEngine()}
    sides, _ = timed(answering(PAIR), engines=engines, cases=(first, CASES[1]))

    assert [None, PAIRED] * 2 == pairs(sides)


def test_what_cannot_be_timed_is_said_once_with_its_reason() -> None:
    """The counts of the case stand."""
    observer = Remarks()
    sides, _ = timed(answering(failed(), failed()), observer=observer)

    assert [None] * 4 == pairs(sides)
    expected = "Not timed in turns: 2 cases: ValueError: bad   (stmt line 1: x + y)"
    assert [expected] == observer.errors


def test_a_budget_that_is_spent_leaves_times_out() -> None:
    """Silently: what it skipped of the first measurement is said there."""
    observer = Remarks()
    sides, interrupted = timed(answering(), observer=observer, end=0.0)

    assert not interrupted
    assert [None] * 4 == pairs(sides)
    assert [] == observer.errors


@pytest.mark.parametrize("can", [True, False], ids=["in turns", "an engine that cannot"])
def test_a_comparison_times_two_builds_in_turns(*, can: bool) -> None:
    """Where the engine can. What runs on a device by itself has times of its own."""
    (on_device,) = materialize({("c",): TimerArgs("x", device="cuda")})
    names = ("base", "new")
    runner = runner_of(*names, **WITH_GPU)
    engines = {name: FakeEngine({(label,): [counted(1000)] for label in "abc"}) for name in names}
    request = ComparisonRequest(
        definitions_of([*CASES, on_device]),
        settings=attrs.evolve(SETTINGS, counts=False),
        stores=False,
    )
    how = answering(PAIR, PAIR) if can else None
    with fake_engines(engines, in_turns=how), LazyStore("/nowhere/runs.db") as runs:
        found = compare_sides(
            *(*(facts.build for facts in runner.facts), request, runs, Silent()),
            lambda *given: attrs.evolve(runner, settings=given[1]),
        ).comparison

    times = [difference.time for difference in found.differences]
    assert [PAIRED if can else None] * 2 + [None] == [time and time.paired for time in times]
    asked = {
        (of.order.case.label, of.order.times) for each in engines.values() for of in each.calls
    }
    assert {(("a",), not can), (("b",), not can), (("c",), True)} == asked
