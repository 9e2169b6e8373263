"""What cannot be stored waits until it can be; tests of the store do it with real faults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.records import Complete, Run
from instruction_counts.execution.events import Silent
from instruction_counts.session.recording import Recording
from tests.fakes import make_record, make_run
from tests.session.fakes import FakeRecorder, Remarks

RECORDS = tuple(make_record(name) for name in "abcd")


def recording(recorder: FakeRecorder, clock: Callable[[], float] = lambda: 0.0) -> Recording:
    """A recording that shows nothing."""
    return Recording(7, recorder, Silent(), clock)


def test_what_is_stored_comes_back_without_its_details() -> None:
    """Nothing else need stay in memory."""
    recorder = FakeRecorder()
    (light,) = recording(recorder).add(RECORDS[0]).values()

    assert light.outcome.functions is None
    assert 7 == light.stored_in


def test_what_could_not_be_stored_is_stored_with_the_next_case() -> None:
    """Once that is possible."""
    recorder = FakeRecorder(lambda _: False)
    held = recording(recorder)
    before = [held.add(record) for record in RECORDS[:2]]
    recorder.accepts = lambda _: True
    after = held.add(RECORDS[2])

    assert [{}, {}] == before
    assert 3 == len(after)
    assert {"a", "b", "c"} == set(recorder.kept)


def test_one_result_that_can_never_be_stored_keeps_no_other_out() -> None:
    """And the run in the store is none that went through to its end."""
    recorder = FakeRecorder(lambda name: name != "b")
    held = recording(recorder)
    for record in RECORDS:
        held.add(record)
    held.finish(make_run(*RECORDS), interrupted=False)

    assert {"a", "c", "d"} == set(recorder.kept)
    assert "interrupted" == recorder.state
    assert held.is_complete is False


@pytest.mark.parametrize("error", [DataError("it is full"), UsageError("the run was deleted")])
def test_a_recorder_that_never_answers_again_ends_no_run(error: UsageError) -> None:
    """Two errors are reported in all: when it begins, and at the end, with what keeps the run."""
    recorder, remarks, kept = FakeRecorder(lambda _: False), Remarks(), []
    recorder.error = error

    def keep(run: Run, complete: Complete) -> Path | None:
        kept.append(tuple(map(complete, run.cases)))
        return Path("a b.json.gz")

    held = Recording(7, recorder, remarks, keep=keep)
    for record in RECORDS:
        held.add(record)
    held.finish(make_run(*RECORDS), interrupted=False)

    assert held.is_complete is False
    assert 2 == len(remarks.errors)
    assert [RECORDS] == kept
    assert (
        f"Run 7 is not stored as a whole: {error.message}\n"
        "  All of its results are in a b.json.gz. When the database can be written: "
        "instruction-counts runs import 'a b.json.gz'"
    ) == remarks.errors[-1]


def test_where_nothing_keeps_a_run_that_is_said() -> None:
    """Every disk may be full."""
    remarks = Remarks()
    held = Recording(7, FakeRecorder(lambda _: False), remarks, keep=lambda *_: None)
    held.finish(make_run(*RECORDS), interrupted=False)

    assert remarks.errors[-1].endswith("No file could be written either.")


def test_a_database_that_does_not_answer_for_long_does_not_hold_up_each_case() -> None:
    """Ten seconds until a server is given up are waited for once in a while."""
    now = [0.0]

    def slow(_: str) -> bool:
        now[0] += 10
        return False

    recorder = FakeRecorder(slow)
    held = recording(recorder, lambda: now[0])
    for number in range(41):
        held.add(make_record(str(number)))
        now[0] += 10

    assert 3 == len(recorder.asked)
