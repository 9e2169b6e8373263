"""Runs that go on, and those whose process ended before they did."""

from __future__ import annotations

from pathlib import Path

import pytest

from instruction_counts.storage.running import RunningRuns
from instruction_counts.storage.store import Store
from tests.fakes import make_run


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Where a database could be."""
    return tmp_path / "runs.db"


def test_nothing_is_left_of_a_run_that_came_to_its_end(path: Path) -> None:
    """Its state is in the database."""
    runs = RunningRuns(path)
    runs.begin(7)
    runs.finish(7)

    assert [] == list(path.parent.iterdir())


def test_a_number_can_come_again(path: Path) -> None:
    """The database was removed and made anew; the file of a killed run was left."""
    before, now = RunningRuns(path), RunningRuns(path)
    before.begin(7)
    before.close()
    now.begin(7)

    assert not RunningRuns(path).is_abandoned(7)


def test_where_no_file_can_be_made_nothing_is_known(tmp_path: Path) -> None:
    """A run does not fail because of it."""
    runs = RunningRuns(tmp_path / "none" / "runs.db")
    runs.begin(7)

    assert not runs.is_abandoned(7)


def test_a_killed_run_is_called_so(path: Path) -> None:
    """And nothing of it is left when it is deleted."""
    with Store.open(path) as store:
        number = store.begin(make_run())
    with Store.open(path) as store:
        state = store.summary(number).state
        store.delete(number)

    assert "killed" == state
    assert [] == list(path.parent.glob("*.run-*"))
