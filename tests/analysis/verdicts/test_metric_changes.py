"""Exact metrics that changed beside instructions."""

from __future__ import annotations

from collections.abc import Iterator

import attrs
import pytest

from instruction_counts.analysis.verdicts.changes import metric_changes
from instruction_counts.domain.metrics import Amounts, Metric, register, unregister
from instruction_counts.domain.records import Record
from tests.fakes import OK, make_record


@pytest.fixture(autouse=True)
def _toys() -> Iterator[None]:
    """A metric that is judged."""
    register(Metric("toys", "toys", "pieces", "a toy", judged=True))
    yield
    unregister("toys")


def record(code: str = "d1", **amounts: int) -> Record:
    """A case with these amounts."""
    made = make_record(outcome=attrs.evolve(OK, metrics=Amounts(amounts)))
    return attrs.evolve(made, definition_hash=code)


@pytest.mark.parametrize(
    ("base", "new", "expected"),
    [
        (record(toys=2), record(toys=3), [("toys", 2, 3, "worse")]),
        (record(toys=3), record(toys=2), [("toys", 3, 2, "better")]),
        (record(toys=2), record(toys=2), []),
        (record(toys=2), record(), []),
        (record(toys=2), record("d2", toys=3), []),
        (record(toys=2), None, []),
        (None, record(toys=3), []),
    ],
)
def test_a_metric_that_differs_on_the_same_code_is_a_change(
    base: Record | None, new: Record | None, expected: list[tuple[str, int, int, str]]
) -> None:
    """Both sides have to know it."""
    assert expected == [
        (change.metric.name, change.base, change.new, change.verdict)
        for change in metric_changes(base, new)
    ]
