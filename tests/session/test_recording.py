"""What cannot be stored waits until it can be; tests of the store do it with real faults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.records import Complete, Run
from instruction_counts.execution.events import Silent
from instruction_counts.session.measuring import Recording
from tests.fakes import make_record, make_run
from tests.session.fakes import FakeRecorder, Remarks

RECORDS = tuple(make_record(name) for name in "abcd")


def recording(recorder: FakeRecorder, clock: Callable[[], float] = lambda: 0.0) -> Recording:
    """A recording that shows nothing."""
    return Recording(7, recorder, Silent(), clock)


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
    """Those that are measured after it are stored one case later."""
    recorder = FakeRecorder(lambda name: name != "b")
    held = recording(recorder)
    for record in RECORDS:
        held.add(record)

    assert {"a", "c"} == set(recorder.kept)


@pytest.mark.parametrize("error", [DataError("it is full"), UsageError("the run was deleted")])
@pytest.mark.parametrize("file", [Path("a b.json.gz"), None])
def test_a_recorder_that_never_answers_again_ends_no_run(
    error: UsageError, file: Path | None
) -> None:
    """Two errors are reported in all: when it begins, and at the end, with what keeps the run.

    Nothing may: every disk may be full.
    """
    recorder, remarks, kept = FakeRecorder(lambda _: False), Remarks(), []
    recorder.error = error

    def keep(run: Run, complete: Complete) -> Path | None:
        kept.append(tuple(map(complete, run.cases)))
        return file

    held = Recording(7, recorder, remarks, keep=keep)
    for record in RECORDS:
        held.add(record)
    held.finish(make_run(*RECORDS), interrupted=False)
    where = "No file could be written either."
    if file is not None:
        where = (
            f"All of its results are in {file}. When the database can be written: "
            f"instruction-counts runs import '{file}'"
        )

    assert held.is_complete is False
    assert [RECORDS] == kept
    assert 2 == len(remarks.errors)
    assert f"Run 7 is not stored as a whole: {error.message}\n  {where}" == remarks.errors[-1]


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
