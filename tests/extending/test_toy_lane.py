"""Cases measured elsewhere: what knows of lanes is their file and one registration."""

from collections.abc import Iterator

import pytest

from instruction_counts import api
from instruction_counts.core.api import TimerArgs
from instruction_counts.domain.errors import UsageError
from instruction_counts.execution.local_lanes import lanes_named, register, unregister
from tests.extending.toy_lane import ELSEWHERE

SETTINGS = api.MeasurementSettings(lanes="elsewhere")


@pytest.fixture(autouse=True)
def elsewhere() -> Iterator[None]:
    """Lanes that are registered from outside."""
    register(ELSEWHERE)
    yield
    unregister(ELSEWHERE)


def test_cases_are_measured_on_lanes_of_another_kind() -> None:
    """Each has its outcome, in the order of the definitions, whatever becomes of it there."""
    cases = {
        "add": TimerArgs("x + y"),
        "wide": TimerArgs("x", num_threads=2),
        "die": TimerArgs("die()"),
    }
    run = api.measure(cases, settings=SETTINGS)

    assert [("add", "ok", 5), ("wide", "skipped", None), ("die", "failed", None)] == [
        (row["label"], row["status"], row["instructions"]) for row in run.table()
    ]
    assert "needs 2 contiguous cores, but this run has 1" == run.table()[1]["error"]
    assert 2 == run.cases[2].outcome.attempts


def test_a_session_keeps_them() -> None:
    """As it keeps servers of this machine."""
    with api.Session(settings=SETTINGS) as session:
        assert [1, 3] == [session.count(stmt).instructions for stmt in ("x", "x+y")]


def test_a_kind_that_is_not_there_is_refused() -> None:
    """With those that are; a name stands for one kind."""
    with pytest.raises(UsageError, match="Choose from: local, elsewhere"):
        lanes_named("nowhere")
    with pytest.raises(ValueError, match="registered already"):
        register(ELSEWHERE)
