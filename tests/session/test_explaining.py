"""Where the instructions of one case go, on sides that are values."""

from __future__ import annotations

import pytest

from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.outcomes import Details, Outcome
from instruction_counts.domain.records import Record
from instruction_counts.domain.selection import Selection
from instruction_counts.session.explaining import explain_sides
from tests.builders import cpp, side

ADD = Selection(only=("Group/add",))


def made(outcome: int | Outcome | None, title: str = "") -> Side:
    """A side with a case that costs so much, or ended so."""
    return side(cpp("Group", "add", outcome=outcome), title=title or f"side {outcome}")


@pytest.mark.parametrize(
    ("counts", "base", "new"), [([1000], None, 1000), ([1000, 1500], 1000, 1500)]
)
def test_sides_are_a_difference(counts: list[int], base: int | None, new: int) -> None:
    """From the first to the second, or from nothing to the only one."""
    (change,) = explain_sides([made(count) for count in counts], ADD).difference.functions

    assert (base, new) == (change.base, change.new)


def test_details_are_asked_for_the_one_case() -> None:
    """The others stay as they are, however many there are."""
    whole, other = cpp("Group", "add", outcome=1000), cpp("Group", "mul", outcome=1)
    asked: list[Record] = []

    def complete(record: Record) -> Record:
        asked.append(record)
        return record.with_details(Details(whole.outcome.functions))

    light = [record.without_details(1) for record in (whole, other)]
    found = explain_sides([side(*light)], ADD, complete)

    assert [light[0]] == asked
    assert whole == found.sides[0].records[whole.key]
