"""What BASE and NEW can be."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from instruction_counts.analysis.verdicts.sides import side_of
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.records import Record, Run
from instruction_counts.session.sides import read_side
from instruction_counts.storage.json_files import to_json
from tests.fakes import make_record, make_run

TWO = make_run(
    make_record("a", build="old"),
    make_record("b", build="old"),
    make_record("a", build="new"),
    builds=("old", "new"),
)


class FakeRuns:
    """Stored runs by number, with their tags."""

    def __init__(self, runs: Mapping[int, Run], tags: Mapping[str, int] | None = None) -> None:
        self._runs, self._tags = runs, dict(tags or {})

    def find(self, text: str) -> int | None:
        """By number or by tag."""
        number = int(text) if text.isdecimal() else self._tags.get(text)
        return number if number in self._runs else None

    def load(self, run_id: int, *, details: bool = True) -> Run:
        """The run, whose details are in memory either way."""
        del details
        return self._runs[run_id]

    def completed(self, record: Record) -> Record:
        """As it is: nothing is left in a store."""
        return record


class NoStore(FakeRuns):
    """A store that must not be opened."""

    def find(self, text: str) -> int | None:
        """Not to be asked."""
        raise AssertionError(text)


NONE = FakeRuns({})


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file with one run of one build."""
    path = tmp_path / "before.json"
    path.write_text(to_json(make_run(make_record("a"))))
    return path


def test_a_side_holds_the_records_of_one_build() -> None:
    """By what their cases are called on any build."""
    side = side_of(TWO, "old", "base")

    assert [("a",), ("b",)] == [key.label for key in side.records]


def test_a_key_says_nothing_of_the_build() -> None:
    """So that both sides have the same."""
    first, _, last = TWO.cases

    assert first.key == last.key


def test_a_file_is_a_side(file: Path) -> None:
    """Called by its name."""
    side = read_side(str(file), NONE)

    assert "before.json" == side.title
    assert 1 == len(side.records)


@pytest.mark.parametrize("text", ["7", "nightly"])
def test_a_stored_run_is_a_side(text: str) -> None:
    """By its number or tag."""
    runs = FakeRuns({7: make_run(make_record("a"))}, {"nightly": 7})

    assert 1 == len(read_side(text, runs).records)


@pytest.mark.parametrize(("text", "title"), [("7:new", "run 7, new"), ("tag:new", "tag:new")])
def test_a_build_of_a_run_is_named_after_a_colon(text: str, title: str) -> None:
    """Where it has several."""
    side = read_side(text, FakeRuns({7: TWO}, {"tag": 7}))

    assert title == side.title
    assert 1 == len(side.records)


def test_a_file_whose_name_holds_a_colon_is_found(file: Path) -> None:
    """The whole text is tried first."""
    path = file.rename(file.with_name("a:b.json"))

    assert 1 == len(read_side(str(path), NONE).records)


@pytest.mark.parametrize(
    ("name", "message", "remedy"),
    [("7", "several builds: old, new", "7:old"), ("7:other", "no build of that name", "old, new")],
)
def test_of_several_builds_one_has_to_be_named(name: str, message: str, remedy: str) -> None:
    """They are listed."""
    with pytest.raises(UsageError, match=message) as caught:
        read_side(name, FakeRuns({7: TWO}))

    assert remedy in caught.value.remedy


@pytest.mark.parametrize("text", ["nothing", "9", "a:b", ":", ""])
def test_what_is_not_there_is_named(text: str) -> None:
    """With where to look."""
    with pytest.raises(UsageError, match="neither a JSON file nor a stored run") as caught:
        read_side(text, NONE)

    assert "runs list" == caught.value.command


@pytest.mark.parametrize("text", ["gone.json", "gone.json.gz:new", "results/gone"])
def test_a_file_that_is_not_there_is_named(text: str) -> None:
    """The store is not asked: nobody who names a file wants to hear of a database."""
    with pytest.raises(UsageError, match=f"there is no file {text.partition(':')[0]}"):
        read_side(text, NoStore({}))


def test_a_file_with_a_build_needs_no_store(file: Path) -> None:
    """Its name is tried with and without what follows the colon."""
    side = read_side(f"{file}:default", NoStore({}))

    assert "before.json:default" == side.title
    assert 1 == len(side.records)


def test_a_damaged_file_is_named(file: Path) -> None:
    """It is not taken for a run that is not there."""
    file.write_text(json.dumps({"schema_version": 99}))

    with pytest.raises(DataError, match="schema_version is 99"):
        read_side(str(file), NONE)
