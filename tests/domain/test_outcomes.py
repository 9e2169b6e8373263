"""What times say beside their median."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.domain.outcomes import Times

VALUES = st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=300)


@pytest.mark.parametrize(
    ("values", "p90", "p99"),
    [([3.0], 3.0, 3.0), ([1.0, 2.0], 1.9, 1.99), ([float(n) for n in range(101)], 90.0, 99.0)],
)
def test_a_percentile_lies_between_two_values(values: list[float], p90: float, p99: float) -> None:
    """On the line from one to the next."""
    times = Times.of(values, 1)

    assert pytest.approx(p90) == times.p90_s
    assert pytest.approx(p99) == times.p99_s


@given(VALUES)
def test_percentiles_are_those_of_numpy(values: list[float]) -> None:
    """In any order, however many there are."""
    times = Times.of(values, 1)

    assert pytest.approx(np.percentile(values, [90, 99]).tolist()) == [times.p90_s, times.p99_s]


@given(VALUES)
def test_mean_and_limits_are_those_of_the_values(values: list[float]) -> None:
    """All of them."""
    times = Times.of(values, 1)

    assert pytest.approx(np.mean(values)) == times.mean_s
    assert min(values) == times.min_s
    assert max(values) == times.max_s
