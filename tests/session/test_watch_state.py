"""The state of a watch: what is kept comes back, and nothing else is taken for it."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.history.watching import Base, FoundStep, SeenBuild, State
from instruction_counts.session.watch_state import held, read_state, state_file_of, write_state
from tests.fakes import make_record

STEP = FoundStep(
    *("0123", "add", "b0", "b1", "worse", "exact difference", 1000, 2000, 1000, "run 2, b1"),
    verified=True,
    causes=("+1000 f",),
)
STATE = State(
    "w",
    ("b0", "b1"),
    (
        Base(SeenBuild("b0=/b0", "b0", "/b0", 1), (make_record("add", "mm").key,)),
        Base(SeenBuild("b1=/b1", "b1", "/b1", 2), (make_record("add").key,)),
    ),
    (STEP,),
)


def test_the_state_comes_back_as_it_was(tmp_path: Path) -> None:
    """With all that is in it; at first nothing was seen."""
    path = tmp_path / "state.json"
    before = read_state(path, "w")
    for _ in range(2):
        with held(path):
            write_state(path, STATE)

    assert State("w") == before
    assert STATE == read_state(path, "w")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "1:1: \\$\n  found     Expecting value\n  expected  JSON"),
        ('{"version": 2}', "found     2 .*\n  expected  1, the only supported version\n.*--state"),
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
    """Two would measure the same build, and report its steps twice."""
    path = tmp_path / "state.json"
    with held(path), pytest.raises(UsageError, match=r"another watch is using.*\n.*--state"):
        held(path).__enter__()


@pytest.mark.parametrize(
    "attempt", [lambda path: held(path).__enter__(), lambda path: write_state(path, STATE)]
)
def test_a_place_that_cannot_be_written_is_named(
    attempt: Callable[[Path], object], tmp_path: Path
) -> None:
    """Also at the start, before a build is measured in vain."""
    with pytest.raises(DataError, match=r"cannot be written.*\n.*--state"):
        attempt(tmp_path / "none" / "state.json")


def test_each_watch_has_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same one each time."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    files = [state_file_of(watched) for watched in ("a", "b", "a")]

    assert files[0] == files[2] != files[1]
    assert [tmp_path / "instruction-counts"] * 3 == [file.parent for file in files]
