"""Wall times side by side."""

from __future__ import annotations

from hypothesis import strategies as st

from instruction_counts.analysis.verdicts.changes import time_change
from instruction_counts.domain.outcomes import Times

VALUES = st.lists(st.floats(1e-9, 1), min_size=1, max_size=60)


def times(*values: float) -> Times:
    """Wall times of blocks."""
    return Times.of(values, 1)


def test_the_ratio_is_new_to_base() -> None:
    """Twice the time is a ratio of two."""
    change = time_change(times(*[1e-6] * 10), times(*[2e-6] * 10))

    assert change is not None
    assert 2.0 == change.ratio
    assert 2.0 == change.low
    assert 2.0 == change.high
    assert change.significant is True


def test_times_that_overlap_are_not_significant() -> None:
    """A difference within the scatter."""
    change = time_change(
        times(*[1.0 + n / 10 for n in range(10)]), times(*[1.2 + n / 10 for n in range(10)])
    )

    assert change is not None
    assert not change.significant


def test_a_case_that_was_not_timed_has_no_change() -> None:
    """On either side."""
    timed = times(1.0)

    assert time_change(timed, None) is None
    assert time_change(None, timed) is None
