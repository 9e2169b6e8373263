"""Where the instructions of one case go, on sides that are values."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from instruction_counts.analysis.attribution.functions import difference
from instruction_counts.analysis.attribution.profiles import speedscope
from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Details, Outcome, Status
from instruction_counts.domain.records import Record
from instruction_counts.domain.selection import Selection
from instruction_counts.engines.callgrind.reading import read
from instruction_counts.session.explaining import (
    explain_sides,
    write_callgrind,
    write_speedscope,
)
from tests.builders import costs_of, cpp, side

ADD = Selection(only=("Group/add",))


def made(outcome: int | Outcome | None, title: str = "") -> Side:
    """A side with a case that costs so much, or ended so."""
    return side(cpp("Group", "add", outcome=outcome), title=title or f"side {outcome}")


@pytest.mark.parametrize(("counts", "base", "new"), [([1000], 0, 1000), ([1000, 1500], 1000, 1500)])
def test_sides_are_a_difference(counts: list[int], base: int, new: int) -> None:
    """From the first to the second, or from nothing to the only one."""
    found = explain_sides([made(count) for count in counts], ADD).difference

    assert base == found.base
    assert new == found.new


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


@pytest.mark.parametrize(
    ("label", "new", "message"),
    [
        ("Group", side(*(cpp("Group", name, outcome=1) for name in ("add", "mul"))), "2 cases"),
        ("Group/ad", made(1), "Near: Group/add"),
        ("Group/add", side(title="empty"), "is in side 1, and not in empty"),
        ("Group/add", made(None), "has no count in side None: failed"),
        ("Group/add", made(Outcome(Status.OK), "new"), "was not counted in new"),
    ],
)
def test_what_cannot_be_explained_says_why(label: str, new: Side, message: str) -> None:
    """With how to narrow it, a label that is near, or how the case ended."""
    with pytest.raises(UsageError, match=message):
        explain_sides([made(1), new], Selection(only=(label,)))


# For other programs


def test_both_files_are_over_the_same_number_of_runs(tmp_path: Path) -> None:
    """So that they can be compared side by side."""
    base, new = (costs_of({"f": 10 * runs}, runs=runs) for runs in (4, 10))
    paths = write_callgrind(tmp_path / "out", "a case", base, new)

    assert ["callgrind.out.base", "callgrind.out.new"] == [path.name for path in paths]
    assert [(200, ("Runs", "20"))] * 2 == [
        (profile.totals, *profile.descriptions) for profile in map(read, paths)
    ]


def test_flame_graphs_are_written_whole(tmp_path: Path) -> None:
    """The file is what the document is."""
    found = difference(None, costs_of({"f": 10}))
    write_speedscope(tmp_path / "flame.json", "a case", found)

    assert speedscope("a case", found) == json.loads((tmp_path / "flame.json").read_text())


@pytest.mark.parametrize(
    ("write", "option"),
    [
        (lambda path: write_callgrind(path, "a case", costs_of({}), costs_of({})), "--callgrind"),
        (lambda path: write_speedscope(path, "a case", difference(None, None)), "--speedscope"),
    ],
    ids=["callgrind", "speedscope"],
)
def test_a_place_that_takes_no_file_is_an_error_in_use(
    write: Callable[[Path], object], option: str, tmp_path: Path
) -> None:
    """With the option that named it."""
    (tmp_path / "file").touch()

    with pytest.raises(UsageError, match=option):
        write(tmp_path / "file" / "below")
