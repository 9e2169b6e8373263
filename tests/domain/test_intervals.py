"""The interval in which the median of few values lies."""

from __future__ import annotations

import math
import random
import statistics
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.domain.intervals import median_interval

VALUES = st.lists(st.floats(1e-9, 1), min_size=1, max_size=60)


@given(VALUES)
def test_the_median_lies_in_its_interval(values: list[float]) -> None:
    """Whatever the values are."""
    low, high = median_interval(values) or (0.0, math.inf)

    assert low <= statistics.median(values) <= high


@pytest.mark.parametrize(
    ("count", "expected"),
    [(6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (20, (6, 15)), (50, (18, 33)), (1000, (469, 532))],
)
def test_intervals_are_those_of_the_textbook(count: int, expected: tuple[int, int]) -> None:
    """The ranks that tables of the sign test give for 95%."""
    assert expected == median_interval([float(value) for value in range(1, count + 1)])


def test_the_interval_narrows_without_a_jump() -> None:
    """Also where the normal distribution takes the place of the binomial one."""
    ranks = [
        (median_interval([float(value) for value in range(count)]) or (0, 0))[0]
        for count in range(480, 530)
    ]

    assert all(0 <= later - earlier <= 1 for earlier, later in pairwise(ranks))


@pytest.mark.parametrize("count", range(1, 6))
def test_few_values_tell_nothing(count: int) -> None:
    """Five values all on one side of the median happen in 6% of all cases."""
    assert median_interval([1.0] * count) is None


def test_the_interval_holds_the_median_as_often_as_it_says() -> None:
    """In at least 95% of samples of a skewed distribution."""
    generator = random.Random(1)  # noqa: S311 - not for secrets
    median = math.log(2)
    held = 0
    for _ in range(2000):
        low, high = median_interval([generator.expovariate(1) for _ in range(25)]) or (0, 0)
        held += low <= median <= high

    assert held / 2000 >= 0.95
