"""What times say beside their values."""

import math

import attrs
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.domain.outcomes import Times, median_interval
from tests.builders import counted

VALUE = st.floats(1e-9, 1e3)
VALUES = st.lists(VALUE, min_size=1, max_size=300) | st.builds(
    lambda value, count: [value] * count, VALUE, st.integers(1, 50)
)


@given(VALUES)
def test_times_are_summed_up_as_numpy_does(values: list[float]) -> None:
    """In any order, however many there are."""
    times = Times.of(values, 1)
    low, median, high, p90, p99 = np.percentile(values, [25, 50, 75, 90, 99]).tolist()

    assert pytest.approx([median, p90, p99]) == [times.median_s, times.p90_s, times.p99_s]
    assert pytest.approx(high - low, abs=1e-9) == times.iqr_s
    assert times.iqr_s >= 0
    assert pytest.approx([np.mean(values), min(values), max(values)]) == [
        *(times.mean_s, times.min_s, times.max_s)
    ]


def test_what_is_large_in_an_outcome_is_not_written_out() -> None:
    """Where somebody prints a case; its status and count are."""
    shown = repr(attrs.evolve(counted(1234), times=Times.of([1e-6] * 1000, 1)))

    assert "1234" in shown
    assert len(shown) < 2000


@given(VALUES)
def test_the_median_lies_in_its_interval(values: list[float]) -> None:
    """Whatever the values are."""
    low, high = median_interval(values) or (0.0, math.inf)

    assert low <= np.median(values) <= high


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        *((count, None) for count in range(1, 6)),
        *((6, (1, 6)), (8, (1, 8)), (9, (2, 8)), (20, (6, 15)), (50, (18, 33)), (1000, (469, 532))),
    ],
)
def test_intervals_are_those_of_the_textbook(count: int, expected: tuple[int, int] | None) -> None:
    """The ranks that tables of the sign test give for 95%; few values tell nothing."""
    assert expected == median_interval([float(value) for value in range(1, count + 1)])
