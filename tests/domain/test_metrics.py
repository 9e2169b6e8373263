"""Metrics: their registry, and numbers by their names."""

from typing import Any

import pytest

from instruction_counts.domain.metrics import Amounts, Better, Metric


def test_amounts_are_equal_by_value() -> None:
    """In any order; with those of a plain dictionary, too. What is not known is not there."""
    amounts, other = Amounts({"a": 1, "b": 2.5}), Amounts({"b": 2.5, "a": 1})

    assert amounts == other == {"a": 1, "b": 2.5}
    assert hash(amounts) == hash(other)
    assert {"a": 0} == Amounts({"a": 0, "b": None})


@pytest.mark.parametrize("value", [float("nan"), float("inf"), True, "1"])
def test_amounts_are_numbers_of_json(value: Any) -> None:
    """Files have to hold them."""
    with pytest.raises(ValueError, match=r"a is .*, which is not a finite number"):
        Amounts({"a": value})


@pytest.mark.parametrize(
    ("better", "new", "expected"),
    [
        (Better.LESS, 3, "worse"),
        (Better.LESS, 1, "better"),
        (Better.MORE, 3, "better"),
        (Better.MORE, 1, "worse"),
        (Better.NEITHER, 3, "changed"),
    ],
)
def test_a_metric_knows_which_way_is_better(better: Better, new: int, expected: str) -> None:
    """As its entry says."""
    assert expected == Metric("m", "m", "", better=better).change(2, new)
