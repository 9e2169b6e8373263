"""Times in turns as values."""

import math

import pytest
import scipy
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.domain.paired import CONFIDENCE, ratio_interval


@given(st.lists(st.integers(500, 2000), min_size=2, max_size=40).filter(lambda of: len({*of}) > 1))
def test_the_interval_is_students_of_the_logarithms(thousandths: list[int]) -> None:
    """As another function of the library finds it, and with the ratio inside."""
    ratios = [number / 1000 for number in thousandths]
    found = ratio_interval(ratios)
    logs = [math.log(ratio) for ratio in ratios]
    expected = scipy.stats.ttest_1samp(logs, 0).confidence_interval(CONFIDENCE)

    assert found is not None
    assert math.exp(expected.low) == pytest.approx(found.low, rel=1e-6, abs=1e-9)
    assert math.exp(expected.high) == pytest.approx(found.high, rel=1e-6)
    assert found.low <= found.ratio <= found.high
