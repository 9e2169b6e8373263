"""Errors as values, and how they print."""

from __future__ import annotations

import pytest

from instruction_counts.core.errors import DefinitionError, quoted


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (DefinitionError("stmt", "1 (int)", "text"), "stmt\n  found     1 (int)\n  expected  text"),
        (
            DefinitionError("BENCHMARKS", "no benchmark", "at least one", source="suite.py"),
            "suite.py: BENCHMARKS\n  found     no benchmark\n  expected  at least one",
        ),
    ],
)
def test_an_error_prints_its_place_what_was_found_and_what_was_expected(
    error: DefinitionError, expected: str
) -> None:
    """As much of the place as is known stands first."""
    assert expected == str(error)


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
