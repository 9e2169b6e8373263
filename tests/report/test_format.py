"""Numbers as people read them."""

import math

import attrs
import pytest

from instruction_counts.domain.outcomes import Times
from instruction_counts.report import format as fmt


@pytest.mark.parametrize(
    ("seconds", "expected"),
    [
        (0.0, "0 ns"),
        (1.234e-10, "0.123 ns"),
        (4.713e-6, "4.71 us"),
        (0.999e-3, "999 us"),
        (0.9996e-3, "1 ms"),
        (99999.0, "99,999 s"),
    ],
)
def test_durations_have_three_digits_and_a_unit(seconds: float, expected: str) -> None:
    """The unit in which they are at least one, after rounding."""
    assert expected == fmt.duration(seconds)


def test_a_change_from_nothing_has_no_percentage() -> None:
    """It would be infinite."""
    assert "from 0" == fmt.relative(math.inf)


@pytest.mark.parametrize(
    ("times", "expected"),
    [(None, ""), (attrs.evolve(Times.of([2e-6], 1), iqr_s=1e-6), 0.5), (Times.of([0.0], 1), "")],
)
def test_the_spread_is_relative_to_the_median(times: Times | None, expected: float | str) -> None:
    """Where there is one."""
    assert expected == fmt.spread_cell(times).value
