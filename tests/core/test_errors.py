"""How errors show what they found."""

import pytest

from instruction_counts.core.errors import quoted


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("x + y", '"x + y"'),
        ("  x\n    y\n", '"x ⏎ y"'),
        ("x" * 60, f'"{"x" * 60}"'),
        ("x" * 61, f'"{"x" * 59}…"'),
        (3, "3 (int)"),
        (["x"], "['x'] (list)"),
        ([0] * 99, f"[{'0, ' * 19}0… (list)"),
    ],
)
def test_a_value_is_quoted_on_one_short_line(value: object, expected: str) -> None:
    """Text stands in quotes, anything else with its type, and nothing runs on."""
    assert expected == quoted(value)
