"""The state of a watch: what is kept comes back, and nothing else is taken for it."""

from __future__ import annotations

from pathlib import Path

import pytest

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.history.watch_state import (
    Alert,
    Delivery,
    LastBuild,
    State,
    Waiting,
    held,
    read_state,
    write_state,
)
from tests.fakes import make_record

ALERT = Alert(
    *("0123", "add", "b0", "b1", "worse", "exact difference", 1000, 2000, 1000, "run 2, b1"),
    verified=True,
    causes=("+1000 f",),
    delivery=Delivery.SENDING,
)
STATE = State(
    "w",
    ("b0", "b1"),
    LastBuild("b1=/b1", "b1", "/b1", 2),
    (ALERT,),
    (Waiting(LastBuild("b0=/b0", "b0", "/b0", 1), (make_record("add", "mm").key,)),),
)


def test_the_state_comes_back_as_it_was(tmp_path: Path) -> None:
    """With all that is in it."""
    path = tmp_path / "state.json"
    write_state(path, STATE)

    assert STATE == read_state(path, "w")


def test_there_is_no_state_at_first(tmp_path: Path) -> None:
    """Nothing was seen."""
    assert State("w") == read_state(tmp_path / "none.json", "w")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: \\$\n  found     Expecting value\n  expected  JSON"),
        ("[" * 100_000, "more than 100 levels"),
        ("[]", "expected  a mapping\n.*--state"),
        ('{"version": 2}', "found     2 .*\n  expected  1, the only supported version\n.*--state"),
        ('{"version": 1}', 'expected  a field "state"'),
        ('{"version": 1, "state": {"watched": "w", "more": 1}}', 'state.more\n.*a field "more"'),
        ('{"version": 1, "state": {"watched": "another"}}', "belongs to another watch: another"),
    ],
)
def test_a_file_that_holds_something_else_is_refused(
    text: str, message: str, tmp_path: Path
) -> None:
    """With what to do."""
    path = tmp_path / "state.json"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        read_state(path, "w")


def test_a_state_is_held_by_one_watch(tmp_path: Path) -> None:
    """Two would measure the same build, and alert twice."""
    path = tmp_path / "state.json"
    with held(path), pytest.raises(UsageError, match=r"another watch is using.*\n.*--state"):
        held(path).__enter__()


def test_a_state_can_be_held_again(tmp_path: Path) -> None:
    """When the first watch is done."""
    path = tmp_path / "state.json"
    for _ in range(2):
        with held(path):
            write_state(path, STATE)

    assert STATE == read_state(path, "w")


def test_a_place_that_cannot_be_written_is_reported_at_the_start(tmp_path: Path) -> None:
    """Before a build is measured in vain."""
    with pytest.raises(DataError, match=r"cannot be written.*\n.*--state"):
        held(tmp_path / "none" / "state.json").__enter__()


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """With the option."""
    with pytest.raises(DataError, match=r"cannot be written.*\n.*--state"):
        write_state(tmp_path / "none" / "state.json", STATE)
