"""Orders that wait for their times."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from instruction_counts.engines.waiting import Waiting
from instruction_counts.execution.work import WorkOrder
from tests.fakes import make_order, make_orders


@pytest.fixture
def hasty_threads() -> Iterator[None]:
    """Threads that take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def test_orders_are_taken_in_their_sequence() -> None:
    """Each once."""
    orders = make_orders(2)
    waiting = Waiting(orders)

    assert [*orders, None] == [waiting.take(1) for _ in range(3)]


def test_an_order_of_more_cores_waits_for_a_lane_that_has_them() -> None:
    """Those behind it do not."""
    wide, narrow = make_order("wide", num_threads=2), make_order("narrow")
    waiting = Waiting([wide, narrow])

    assert (narrow, None, wide) == (waiting.take(1), waiting.take(1), waiting.take(2))


def test_what_was_dropped_is_not_taken() -> None:
    """A second time is no mistake: another lane may have been faster."""
    first, second = make_orders(2)
    waiting = Waiting([first, second])
    waiting.drop(first)
    waiting.drop(first)

    assert second == waiting.take(1)


@pytest.mark.usefixtures("hasty_threads")
def test_lanes_may_take_and_drop_at_the_same_time() -> None:
    """Every order is handed out once, or dropped; none twice."""
    orders = make_orders(600)
    waiting = Waiting(orders)

    def take(_: int) -> list[WorkOrder]:
        return list(iter(lambda: waiting.take(1), None))

    with ThreadPoolExecutor(3) as lanes:
        dropped = lanes.submit(lambda: [waiting.drop(one) for one in orders[::3]])
        taken = [one for found in lanes.map(take, range(2)) for one in found]
        dropped.result()

    assert (len(taken), True) == (len(set(taken)), set(orders) >= set(taken) >= set(orders[1::3]))
