"""Sizes of change: written one way in options, YAML and JSON."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from instruction_counts.domain.effects import NEVER, Effect

EFFECTS = st.builds(
    Effect, st.integers(0, 10**6).map(lambda number: number / 10**5), st.integers(0, 10**12)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("50", Effect(absolute=50)),
        (" 0.5 % ", Effect(0.005)),
        ("1%,50", Effect(0.01, 50)),
        ("50, 1%", Effect(0.01, 50)),
        ("1%,1,000 instructions", Effect(0.01, 1000)),
    ],
)
def test_every_spelling_is_read(text: str, expected: Effect) -> None:
    """A percentage, an instruction count, or both."""
    assert expected == Effect.parse(text)


@pytest.mark.parametrize(
    "text",
    ["", "x", "-1", "1,2", "1%,2%", "1.5", "1e3", "%", "1%%", "1%,", "1 %5", "9" * 16, "nan"],
)
def test_whatever_else_is_refused(text: str) -> None:
    """Also two of a kind, of which one would be ignored."""
    with pytest.raises(ValueError, match=r"a percentage \(0\.5%\), an instruction count \(20\)"):
        Effect.parse(text)


@given(EFFECTS | st.just(NEVER))
def test_what_is_shown_can_be_read_again(effect: Effect) -> None:
    """A message can be copied into an option."""
    again = Effect.parse(str(effect))

    assert effect.absolute == again.absolute
    assert math.isclose(effect.relative, again.relative)


@pytest.mark.parametrize(("change", "expected"), [(9, False), (10, True), (-10, True)])
def test_a_change_has_to_reach_both_parts(change: int, expected: bool) -> None:
    """In either direction; never is reached by none."""
    assert expected is Effect(0.01, 10).is_reached(change, 500)
    assert expected is Effect(0.02, 3).is_reached(change, 500)
    assert not NEVER.is_reached(change * 10**17, 1)
