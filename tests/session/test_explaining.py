"""Where the instructions of one case go, on sides that are values."""

from __future__ import annotations

import attrs
import pytest

from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Details, Outcome, Status
from instruction_counts.domain.records import Record
from instruction_counts.domain.selection import Selection
from instruction_counts.session.explaining import explain_sides
from tests.builders import counted, cpp, side
from tests.fakes import failed

ADD = Selection(only=("Group/add",))


def made(count: int) -> Side:
    """A side with a case that costs so much."""
    return side(cpp("Group", "add", outcome=counted(count)), title=f"side {count}")


@pytest.mark.parametrize(("counts", "base", "new"), [([1000], 0, 1000), ([1000, 1500], 1000, 1500)])
def test_sides_are_a_difference(counts: list[int], base: int, new: int) -> None:
    """From the first to the second, or from nothing to the only one."""
    found = explain_sides([made(count) for count in counts], ADD).difference

    assert base == found.base
    assert new == found.new


def test_details_are_asked_for_the_one_case() -> None:
    """The others stay as they are, however many there are."""
    whole = cpp("Group", "add", outcome=counted(1000))
    other = cpp("Group", "mul", outcome=counted(1))
    asked: list[Record] = []

    def complete(record: Record) -> Record:
        asked.append(record)
        return record.with_details(Details(whole.outcome.functions))

    light = [record.without_details(1) for record in (whole, other)]
    found = explain_sides([side(*light)], ADD, complete)

    assert [light[0]] == asked
    assert whole == found.sides[0].records[whole.key]


def test_several_cases_are_listed() -> None:
    """The error says how to narrow them."""
    records = [cpp("Group", name, outcome=counted(1)) for name in ("add", "mul")]

    with pytest.raises(UsageError, match="2 cases match 'Group'"):
        explain_sides([side(*records)], Selection(only=("Group",)))


def test_a_label_that_does_not_exist_is_answered_with_a_near_one() -> None:
    """A letter is soon wrong."""
    with pytest.raises(UsageError, match="Near: Group/add"):
        explain_sides([made(1)], Selection(only=("Group/ad",)))


@pytest.mark.parametrize(
    ("outcome", "expected"),
    [(failed(), "has no count in side: failed"), (Outcome(Status.OK), "was not counted in side")],
)
def test_a_case_without_a_count_is_named(outcome: Outcome, expected: str) -> None:
    """With the side, and how it ended."""
    new = side(cpp("Group", "add", outcome=outcome), title="side")

    with pytest.raises(UsageError, match=expected):
        explain_sides([made(1), new], ADD)


def test_a_case_of_one_side_alone_is_named() -> None:
    """With both sides."""
    empty = attrs.evolve(made(1), records={}, title="empty")

    with pytest.raises(UsageError, match="is in side 1, and not in empty"):
        explain_sides([made(1), empty], ADD)
