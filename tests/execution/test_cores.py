"""Cores: the option that names them, and the pool that lends them in contiguous runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instruction_counts.domain.errors import UsageError
from instruction_counts.execution.cores import available_cores, parse_cores
from tests.cores import PoolOfItsOwn, shared_pool
from tests.waiting import comes_true

CORES = st.sets(st.integers(0, 12), min_size=1, max_size=8).map(lambda cores: tuple(sorted(cores)))


def is_contiguous(cores: Sequence[int]) -> bool:
    """Whether each core lies next to the one before it."""
    return list(cores) == list(range(cores[0], cores[0] + len(cores)))


# parse_cores


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", (0,)),
        ("0-3", (0, 1, 2, 3)),
        ("0-1,3", (0, 1, 3)),
        ("3,0", (0, 3)),
        ("1,1-2", (1, 2)),
        (" 0 , 2 ", (0, 2)),
        ("2-2", (2,)),
    ],
)
def test_numbers_and_ranges_name_cores(text: str, expected: tuple[int, ...]) -> None:
    """Parts are joined, sorted and named once."""
    assert expected == parse_cores(text, (0, 1, 2, 3))


@pytest.mark.parametrize("text", ["", "a", "0-", "-1", "0,,1", "0-1-2", "1.5", "²", "0 1"])
def test_another_form_is_refused_with_an_example(text: str) -> None:
    """What is not a list of cores is told apart from what names absent ones."""
    with pytest.raises(UsageError, match=r"is not a list of cores\n  For example: 0-3,6"):
        parse_cores(text, (0, 1))


@pytest.mark.parametrize(
    ("text", "absent"), [("2", "2"), ("0-2", "2"), ("7,9", "7, 9"), ("1-0", "none")]
)
def test_a_core_that_is_not_there_is_refused_with_those_that_are(text: str, absent: str) -> None:
    """The error names what is missing and what could be named instead."""
    with pytest.raises(UsageError, match=f"not available here: {absent}\n  Available: 0, 1"):
        parse_cores(text, (0, 1))


def test_a_huge_range_is_refused_without_spelling_it_out() -> None:
    """A typing error costs neither memory nor time."""
    with pytest.raises(UsageError, match="not available here: 2"):
        parse_cores("0-999999999999999", (0, 1))


@given(CORES)
def test_any_list_of_available_cores_is_read_back(cores: tuple[int, ...]) -> None:
    """What is joined by commas comes out as it went in."""
    assert cores == parse_cores(",".join(map(str, cores)), tuple(range(13)))


def test_the_available_cores_are_at_least_one() -> None:
    """The process that asks runs on one of them."""
    assert available_cores()


# CorePool


@pytest.mark.parametrize(
    ("cores", "widest"), [((0,), 1), ((0, 1), 2), ((0, 2, 4), 1), ((0, 1, 3, 4, 5), 3)]
)
def test_the_widest_is_the_longest_contiguous_run(cores: tuple[int, ...], widest: int) -> None:
    """A gap between cores parts them."""
    assert widest == PoolOfItsOwn(*cores).widest


def test_the_size_is_the_number_of_cores() -> None:
    """Gaps do not matter for it."""
    assert 3 == PoolOfItsOwn(0, 2, 4).size


def test_a_reservation_leaves_long_runs_whole() -> None:
    """One core comes from the shortest run that has it."""
    with PoolOfItsOwn(0, 1, 2, 4).reserve(1) as cores:
        assert (4,) == cores


def test_cores_come_back_after_use() -> None:
    """One core serves any number of cases, one after the other."""
    pool = PoolOfItsOwn(5)
    seen = []
    for _ in range(3):
        with pool.reserve(1) as cores:
            seen.append(cores)

    assert [(5,)] * 3 == seen


def test_cores_come_back_after_an_exception() -> None:
    """A lane that fails does not keep what it was lent."""
    pool = PoolOfItsOwn(0)
    with pytest.raises(ValueError, match="lane"), pool.reserve(1):
        raise ValueError("lane")

    with pool.reserve(1) as cores:
        assert (0,) == cores


def test_a_wide_case_that_came_first_is_served_first(tmp_path: Path) -> None:
    """Narrow cases that come later do not starve it, although their cores are free."""
    pool = shared_pool(tmp_path, 0, 1)
    order: list[str] = []

    def reserve(name: str, count: int) -> None:
        with pool.reserve(count):
            order.append(name)

    with pool.reserve(1):
        wide = threading.Thread(target=reserve, args=("wide", 2))
        wide.start()
        assert comes_true(lambda: len(list(tmp_path.glob("ticket-*"))) == 1)
        narrow = threading.Thread(target=reserve, args=("narrow", 1))
        narrow.start()
        assert comes_true(lambda: len(list(tmp_path.glob("ticket-*"))) == 2)
    wide.join()
    narrow.join()

    assert ["wide", "narrow"] == order


@settings(max_examples=25)
@given(CORES, st.lists(st.integers(1, 3), max_size=12))
def test_no_core_is_lent_twice_and_all_are_contiguous(
    cores: tuple[int, ...], counts: list[int]
) -> None:
    """Whatever several lanes ask for at once."""
    pool = PoolOfItsOwn(*cores)
    lock, held, wrong = threading.Lock(), set[int](), list[tuple[int, ...]]()

    def reserve(count: int) -> None:
        with pool.reserve(min(count, pool.widest)) as lent:
            with lock:
                if held & set(lent) or not is_contiguous(lent) or not set(lent) <= set(cores):
                    wrong.append(lent)
                held.update(lent)
            time.sleep(0.0005)
            with lock:
                held.difference_update(lent)

    with ThreadPoolExecutor(4) as lanes:
        list(lanes.map(reserve, counts))

    assert [] == wrong
