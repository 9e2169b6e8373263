"""A comparison as a file for programs."""

from __future__ import annotations

import json
from typing import Any

import attrs
import pytest

from instruction_counts.analysis.verdicts.comparison import compare
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.outcomes import Outcome, Output, TensorValue, Times
from instruction_counts.report.formats.entry import ComparisonReport
from instruction_counts.report.formats.json import comparison
from tests.fakes import FINGERPRINT, OK, make_record

ONE, INFINITE = "AAAAAAAA8D8=", "AAAAAAAA8H8="
"""A tensor's values in a file: the number 1, and infinity."""


def side(outcome: Outcome) -> Side:
    """A side with one case."""
    record = make_record("a", outcome=outcome)
    return Side("side", "fork", FINGERPRINT, {record.key: record})


def computed(sample: str) -> Output:
    """An output of one value."""
    return Output("inputs", (TensorValue("z", (1,), "float32", sample, 0, sample),))


def case(base: Outcome, new: Outcome) -> dict[str, Any]:
    """The case in the file, whose text is JSON as its standard knows it."""

    def refuse(constant: str) -> None:
        raise AssertionError(f"{constant} is no JSON")

    text = comparison(ComparisonReport(compare(side(base), side(new))))
    found: dict[str, Any] = json.loads(text, parse_constant=refuse)["cases"][0]
    return found


def test_an_interval_without_a_bound_ends_in_null() -> None:
    """Few times bound the change of their median on no side."""
    assert {"base_s": 2.2e-06, "new_s": 2.2e-06, "low": 0.0, "high": None} == case(OK, OK)["time"]


def test_an_interval_with_bounds_has_both() -> None:
    """As they are."""
    outcome = attrs.evolve(OK, times=Times.of([1.0] * 6, 1))

    assert {"base_s": 1.0, "new_s": 1.0, "low": 1.0, "high": 1.0} == case(outcome, outcome)["time"]


@pytest.mark.parametrize(("base", "new"), [(ONE, INFINITE), (INFINITE, ONE)])
def test_a_difference_that_is_infinite_is_null(base: str, new: str) -> None:
    """It is said in words, too."""
    first, other = (attrs.evolve(OK, output=computed(sample)) for sample in (base, new))

    assert [
        {
            "name": "z",
            "what": "differs by up to inf (relative inf)",
            "largest_absolute": None,
            "largest_relative": None,
        }
    ] == case(first, other)["output"]["tensors"]
