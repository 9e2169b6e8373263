"""How durations are written in options."""

from __future__ import annotations

import click
import pytest

from instruction_counts.cli.option_types import DurationType


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("60", 60), ("1.5", 1.5), ("90s", 90), ("10m", 600), ("10 min", 600), ("1h", 3600)],
)
def test_a_duration_can_be_written_in_several_ways(text: str, seconds: float) -> None:
    """Seconds, or with a unit."""
    assert seconds == DurationType().convert(text, None, None)


@pytest.mark.parametrize("text", ["", "0", "-1", "ten", "1d", "1h30m", "inf", "nan", "1e3", "m"])
def test_what_is_no_time_is_refused(text: str) -> None:
    """With what it can be."""
    with pytest.raises(click.BadParameter, match="10m, 1h"):
        DurationType().convert(text, None, None)
