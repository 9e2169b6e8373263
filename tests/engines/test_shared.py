"""What several lanes share."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.shared import Once, Waiting
from tests.fakes import make_order, make_orders


def test_a_value_is_made_once_for_all_who_ask() -> None:
    """The others wait for the first, who makes it."""
    made = list[str]()
    everybody = threading.Barrier(4)

    def make(key: str, text: str) -> str:
        made.append(key)
        return f"{key} {text}"

    once = Once(make)

    def ask(_: int) -> str:
        everybody.wait(60)
        found: str = once.get("a", "value")
        return found

    with ThreadPoolExecutor(4) as threads:
        found = list(threads.map(ask, range(4)))

    assert ["a value"] * 4 == found
    assert ["a"] == made


def test_each_key_has_a_value() -> None:
    """Made from the key."""
    once = Once(str.upper)

    assert ["A", "B"] == [once.get("a"), once.get("b")]


def test_what_fails_is_tried_again() -> None:
    """As a case that is retried expects."""
    answers = iter([ZeroDivisionError(), "found"])

    def make(_: object) -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return str(answer)

    once = Once(make)
    with pytest.raises(ZeroDivisionError):
        once.get("a")

    assert "found" == once.get("a")


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

    assert narrow == waiting.take(1)
    assert waiting.take(1) is None
    assert wide == waiting.take(2)


def test_what_was_dropped_is_not_taken() -> None:
    """A second time is no mistake: another lane may have been faster."""
    first, second = make_orders(2)
    waiting = Waiting([first, second])
    waiting.drop(first)
    waiting.drop(first)

    assert second == waiting.take(1)


@pytest.mark.usefixtures("hasty_threads")
def test_lanes_may_take_and_drop_at_the_same_time() -> None:
    """One looks for wide orders behind narrow ones, while these are taken and dropped."""
    narrow = make_orders(900)
    wide = [make_order("wide", str(number), num_threads=2) for number in range(300)]
    waiting = Waiting([*narrow, *wide])

    def take(cores: int) -> list[WorkOrder]:
        return list(iter(lambda: waiting.take(cores), None))

    with ThreadPoolExecutor(4) as lanes:
        dropped = lanes.submit(lambda: [waiting.drop(order) for order in narrow[::3]])
        found_wide = lanes.submit(take, 2)
        taken = [order for found in lanes.map(take, [1, 1]) for order in found]
        dropped.result()

    assert wide == found_wide.result()
    assert len(taken) == len(set(taken))
    assert set(taken) >= set(narrow[1::3])
