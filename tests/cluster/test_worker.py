"""What a worker of Dask runs, called without Dask."""

import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn, cast

import attrs
import pytest

from instruction_counts.cluster import worker
from instruction_counts.cluster.worker import (
    Answer,
    Measured,
    Opened,
    Orders,
    Wanted,
    for_a_worker,
    value_of,
)
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Profile
from instruction_counts.engines.registry import register, unregister
from instruction_counts.execution.lanes import Lanes
from instruction_counts.sources.definitions import STANDARD, load
from instruction_counts.storage.json_files import dumps, loads
from tests.cluster import slow_engine
from tests.fakes import make_order
from tests.waiting import comes_true

BUILD = Build("default", sys.executable)
WANTED = Wanted("a run", "slow", (BUILD,), Profile(), 600.0, jobs=1)


@pytest.fixture(autouse=True)
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One that runs nothing; no lanes stay open."""
    monkeypatch.setenv(slow_engine.NOTED, str(tmp_path / "noted"))
    register(slow_engine.ENGINE)
    yield
    worker.close_lanes(WANTED.run)
    unregister(slow_engine.ENGINE)


def measured(order: WorkOrder) -> Answer:
    """What the lanes of the run answer."""
    return loads(worker.measure(dumps(Orders(WANTED.run, (order,), "0"))), Answer)


def test_an_order_is_measured_on_lanes_that_were_opened() -> None:
    """What is known of builds comes with the first outcome, as it may be known only then."""
    opened = value_of(loads(worker.open_lanes(dumps(WANTED)), Answer), Opened)
    order = attrs.evolve(make_order("add"), build=BUILD)
    first, second = (value_of(measured(order), Measured) for _ in range(2))

    assert 1 == opened.number
    assert {"default"} == set(opened.fingerprints) == set(first.fingerprints or ())
    assert second.fingerprints is None
    assert first.outcome == second.outcome


def test_lanes_end_when_their_controller_is_not_heard_of() -> None:
    """One that was killed says nothing, and no server stays behind."""
    worker.open_lanes(dumps(attrs.evolve(WANTED, silent_s=0.1)))

    assert comes_true(lambda: not worker._RUNS)
    assert "this worker has closed the lanes of this run" == measured(make_order("add")).error


def test_what_goes_wrong_is_told_with_the_remedy() -> None:
    """No exception crosses the network, as Dask would pickle it."""
    nowhere = attrs.evolve(WANTED, builds=(Build("b", "/nowhere/python"),))
    answer = loads(worker.open_lanes(dumps(nowhere)), Answer)

    with pytest.raises(BuildError, match="/nowhere/python"):
        value_of(answer, Opened)
    with pytest.raises(UsageError, match="a worker failed"):
        value_of(loads(worker.measure("no JSON"), Answer), Measured)


@pytest.mark.faults
def test_what_its_machine_is_short_of_is_told_with_the_remedy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The case can go to another one, where the disk is not full."""
    worker.open_lanes(dumps(WANTED))
    with monkeypatch.context() as patch:
        patch.setenv(slow_engine.NOTED, "/dev/full")
        answer = measured(attrs.evolve(make_order("add"), build=BUILD))

    with pytest.raises(UsageError, match=r"^No space left on device\n  Free some space there"):
        value_of(answer, Measured)


class NoCores:
    """Lanes of a machine that cannot lock its cores."""

    def wait(self) -> None:
        """They are ready."""

    def lane(self, *_: object) -> NoReturn:
        """As where no file can be opened any more."""
        raise OSError(24, "Too many open files")


def test_a_lane_that_cannot_be_had_is_told_too() -> None:
    """Whoever waits for the outcome would wait for ever."""
    is_closed = threading.Event()
    slot = worker._Slot(cast("Lanes", NoCores()), is_closed.is_set)
    try:
        for _ in range(2):
            with pytest.raises(OSError, match="Too many open files"):
                slot.measure(make_order("add"))
    finally:
        is_closed.set()


def test_orders_travel_whole() -> None:
    """But for what only their controller reads."""
    orders = [WorkOrder(case, BUILD, executed=True) for case in load(STANDARD)]
    sent = [for_a_worker(order) for order in orders]
    arrived = [loads(dumps(order), WorkOrder) for order in sent]

    assert sent == arrived
    assert [order.case.definition_hash for order in orders] == [
        order.case.definition_hash for order in arrived
    ]
