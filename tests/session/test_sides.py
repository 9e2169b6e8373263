"""What BASE and NEW can be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.records import Record, Run
from instruction_counts.session.sides import find_whole_run, read_side, stored_number
from instruction_counts.storage.json_files import to_json
from tests.fakes import make_record, make_run

ONE = make_run(make_record("a"))
TWO = make_run(
    *(
        make_record(label, build=build)
        for label, build in (("a", "old"), ("b", "old"), ("a", "new"))
    ),
    builds=("old", "new"),
)


class FakeRuns:
    """Stored runs by number or tag."""

    def __init__(self, runs: Mapping[str, Run]) -> None:
        self._runs = list(runs.items())

    def find(self, text: str) -> int | None:
        """The number of the run of that name."""
        return next((n for n, (name, _) in enumerate(self._runs) if name == text), None)

    def similar_tags(self, text: str) -> list[str]:
        """None."""
        del text
        return []

    def load(self, run_id: int, *, details: bool = True) -> Run:
        """The run, whose details are in memory either way."""
        del details
        return self._runs[run_id][1]

    def completed(self, record: Record) -> Record:
        """As it is: nothing is left in a store."""
        return record


class NoStore(FakeRuns):
    """A store that must not be opened: nobody who names a file wants to hear of a database."""

    def find(self, text: str) -> int | None:
        """Not to be asked."""
        raise AssertionError(text)


NONE = NoStore({})
RUNS = FakeRuns({"0": TWO, "tag": TWO, "nightly": ONE})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with one run of one build."""
    path = tmp_path / "before.json"
    path.write_text(to_json(ONE))
    return path


@pytest.mark.parametrize(
    ("after", "title"), [("", "before.json"), (":default", "before.json:default")]
)
def test_a_file_is_a_side(after: str, title: str, file: Path) -> None:
    """Called by its name, which is tried with and without what follows the colon."""
    side = read_side(f"{file}{after}", NONE)

    assert (title, 1, None) == (side.title, len(side.records), side.run_id)


def test_a_file_whose_name_holds_a_colon_is_found(file: Path) -> None:
    """The whole text is tried first."""
    path = file.rename(file.with_name("a:b.json"))

    assert 1 == len(read_side(str(path), NONE).records)


@pytest.mark.parametrize(
    ("text", "title", "labels", "number"),
    [
        ("nightly", "nightly", "a", 2),
        ("0:old", "run 0, old", "ab", 0),
        ("0:new", "run 0, new", "a", 0),
        ("tag:new", "tag:new", "a", 1),
    ],
)
def test_a_stored_run_is_a_side(text: str, title: str, labels: str, number: int) -> None:
    """By its number or tag; a build is named after a colon, where it has several."""
    side = read_side(text, RUNS)

    assert (title, number) == (side.title, side.run_id)
    assert [(label,) for label in labels] == [key.label for key in side.records]


@pytest.mark.parametrize(
    ("text", "runs", "message", "remedy"),
    [
        ("0", RUNS, "several builds: old, new", "Name one of them: 0:old"),
        ("0:other", RUNS, "no build of that name", "It has: old, new"),
        *(
            (text, RUNS, "neither a JSON file nor a stored run", "Stored runs and their tags:")
            for text in ("nothing", "9", "a:b", ":", "")
        ),
        ("gone.json", NONE, "there is no file gone.json", "Write one:"),
        ("gone.json.gz:new", NONE, "there is no file gone.json.gz", "Write one:"),
        ("results/gone", NONE, "there is no file results/gone", "Write one:"),
    ],
)
def test_what_is_not_there_is_named(text: str, runs: FakeRuns, message: str, remedy: str) -> None:
    """With where to look, or what could be meant."""
    with pytest.raises(UsageError, match=message) as caught:
        read_side(text, runs)

    assert remedy == caught.value.remedy


def test_a_whole_run_is_no_build_of_one(file: Path) -> None:
    """Nobody deletes a run who names a part of it; a file is not stored."""
    assert [1, 0] == [stored_number(text, RUNS) for text in ("tag", "0")]
    assert file == find_whole_run(str(file), NONE)
    with pytest.raises(UsageError, match="0:old is one build of a run\\n  Name the run: 0"):
        stored_number("0:old", RUNS)
    with pytest.raises(UsageError, match="is a file, and not a stored run"):
        stored_number(str(file), NONE)


def test_a_damaged_file_is_named(file: Path) -> None:
    """It is not taken for a run that is not there."""
    file.write_text(json.dumps({"schema_version": 99}))

    with pytest.raises(DataError, match="schema_version is 99"):
        read_side(str(file), NONE)
