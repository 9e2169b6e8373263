"""Durations: one way to write them, everywhere."""

import pytest

from instruction_counts.domain.bounds import seconds_of, span


@pytest.mark.parametrize(
    ("written", "seconds"),
    [
        ("90s", 90),
        ("10m", 600),
        ("10min", 600),
        ("1.5 h", 5400),
        (" 0.25 ", 0.25),
        (90, 90),
        (0.5, 0.5),
    ],
)
def test_a_duration_is_a_number_with_a_unit(written: object, seconds: float) -> None:
    """Seconds where no unit is given; YAML reads those as numbers."""
    assert seconds == seconds_of(written)


NO_DURATIONS: list[object] = [
    *["", "0", "-1", "h", "1d", "1e9", "nan", "inf", "1h30m", "²", "1" * 13, "9" * 5000],
    *[True, None, float("nan"), float("inf"), 0, -1, 2e9, [1]],
]


@pytest.mark.parametrize("written", NO_DURATIONS)
def test_what_is_no_duration_is_refused(written: object) -> None:
    """With what is one."""
    with pytest.raises(ValueError, match="expected a duration: 90"):
        seconds_of(written)


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(60, "60 s"), (90, "90 s"), (2.5, "2.5 s"), (600, "10 min"), (3600, "1 h"), (5400, "90 min")],
)
def test_a_budget_is_written_as_people_write_it(seconds: float, text: str) -> None:
    """In the largest unit that is even."""
    assert text == span(seconds)
