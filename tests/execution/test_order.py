"""The order of work, and what is remembered for it."""

from __future__ import annotations

import functools
from pathlib import Path

import pytest

from instruction_counts.domain.work import WorkOrder
from instruction_counts.execution.order import longest_first, note_durations, read_durations
from tests.fakes import BUILD, make_case, together

SHORT, LONG, NEW = (
    WorkOrder(make_case("case", stmt=stmt), BUILD) for stmt in ("short", "long", "new")
)
KNOWN = {SHORT.case.definition_hash: 0.5, LONG.case.definition_hash: 30.0}


@pytest.mark.parametrize(
    ("orders", "known", "expected"),
    [
        ([SHORT, LONG], KNOWN, [LONG, SHORT]),
        ([SHORT, NEW, LONG], KNOWN, [NEW, LONG, SHORT]),
        ([SHORT, LONG, NEW], {}, [SHORT, LONG, NEW]),
    ],
    ids=["long first", "what may have to be compiled first", "as defined"],
)
def test_long_cases_come_before_short_ones(
    orders: list[WorkOrder], known: dict[str, float], expected: list[WorkOrder]
) -> None:
    """So that the lanes end together."""
    assert expected == longest_first(orders, known)


def test_newer_durations_replace_older_ones(tmp_path: Path) -> None:
    """The others stay."""
    path = tmp_path / "durations.json"
    note_durations(path, {"a": 1.0, "b": 2.0})
    note_durations(path, {"b": 3.0})

    assert {"a": 1.0, "b": 3.0} == read_durations(path)


def test_durations_of_two_runs_at_the_same_time_are_all_noted(tmp_path: Path) -> None:
    """Neither writes over what the other one found."""
    path = tmp_path / "durations.json"

    def note(name: str) -> None:
        for number in range(20):
            note_durations(path, {f"{name} {number}": 1.0})

    together(*(functools.partial(note, name) for name in "ab"))

    assert {f"{name} {number}" for name in "ab" for number in range(20)} == set(
        read_durations(path)
    )


def test_durations_that_cannot_be_noted_end_no_run() -> None:
    """They cost an order of work."""
    path = Path("/proc/durations.json")
    note_durations(path, {"a": 1.0})

    assert {} == read_durations(path)


@pytest.mark.parametrize(
    "content",
    [
        *("", "[1]", '{"a": "x"}', '{"a": null}', "\x00", "[" * 10_000),
        *('{"a": NaN}', '{"a": 1e999}', f'{{"a": 1{"0" * 400}}}'),
    ],
    ids=lambda content: content[:12],
)
def test_a_damaged_file_is_no_knowledge(tmp_path: Path, content: str) -> None:
    """It costs an order of work, and no run."""
    path = tmp_path / "durations.json"
    path.write_text(content)

    assert {} == read_durations(path)
