"""What a worker of Dask runs, called without Dask."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs
import pytest

from instruction_counts.cluster.worker import Desk, Measured, Wanted, for_a_worker, received, sent
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Profile
from instruction_counts.engines.registry import register, unregister
from instruction_counts.sources.definitions import STANDARD, load
from instruction_counts.storage.json_files import dumps, loads
from tests.cluster import slow_engine
from tests.fakes import make_order
from tests.waiting import comes_true

BUILD = Build("default", sys.executable)
WANTED = Wanted("slow", (BUILD,), Profile(), jobs=1)


@pytest.fixture
def desk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Desk]:
    """One whose engine runs nothing; its lanes do not stay open."""
    monkeypatch.setenv(slow_engine.NOTED, str(tmp_path / "noted"))
    register(slow_engine.ENGINE)
    found = Desk()
    yield found
    found.close_lanes()
    unregister(slow_engine.ENGINE)


def asked(desk: Desk, method: Any, *arguments: object) -> Any:
    """What a controller is told."""
    return received(desk.answered(method.__name__, sent(*arguments)), method)


def measured(desk: Desk, order: WorkOrder) -> Measured:
    """What becomes of an order."""
    return asked(desk, Desk.measure, (order,))


def test_an_order_is_measured_on_lanes_that_were_opened(desk: Desk) -> None:
    """What is known of builds comes with each outcome, as it may be known only then."""
    opened = asked(desk, Desk.open_lanes, WANTED)
    order = attrs.evolve(make_order("add"), build=BUILD)
    first, second = (measured(desk, order) for _ in range(2))

    assert 1 == opened.number
    assert {"default"} == set(opened.fingerprints) == set(first.fingerprints)
    outcomes = (*first.outcomes, *second.outcomes)
    assert [5, 5] == [outcome.instructions.per_run for outcome in outcomes]


def test_lanes_end_when_their_controller_is_not_heard_of(desk: Desk, tmp_path: Path) -> None:
    """One that was killed says nothing, and no server stays behind."""
    asked(desk, Desk.open_lanes, attrs.evolve(WANTED, silent_s=0.1))

    assert comes_true((tmp_path / "noted.closed").exists)
    with pytest.raises(UsageError, match="this worker has closed the lanes of this run"):
        measured(desk, make_order("add"))


def test_what_goes_wrong_is_told_with_the_remedy(desk: Desk) -> None:
    """No exception crosses the network, as Dask would pickle it."""
    nowhere = attrs.evolve(WANTED, builds=(Build("b", "/nowhere/python"),))

    with pytest.raises(BuildError, match="/nowhere/python"):
        asked(desk, Desk.open_lanes, nowhere)
    with pytest.raises(UsageError, match="a worker failed"):
        received(desk.answered("measure", "no JSON"), Desk.measure)


@pytest.mark.faults
def test_what_its_machine_is_short_of_is_told_with_the_remedy(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The case can go to another one, where the disk is not full."""
    asked(desk, Desk.open_lanes, WANTED)
    with monkeypatch.context() as patch:
        patch.setenv(slow_engine.NOTED, "/dev/full")
        with pytest.raises(UsageError, match=r"^No space left on device\n  Free some space there"):
            measured(desk, attrs.evolve(make_order("add"), build=BUILD))


def test_orders_travel_whole() -> None:
    """But for what only their controller reads."""
    orders = [WorkOrder(case, BUILD, executed=True) for case in load(STANDARD)]
    sent = [for_a_worker(order) for order in orders]
    arrived = [loads(dumps(order), WorkOrder) for order in sent]

    assert sent == arrived
    assert [order.case.definition_hash for order in orders] == [
        order.case.definition_hash for order in arrived
    ]
