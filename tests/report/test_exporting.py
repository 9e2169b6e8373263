"""Files of runs that grow, in the format that their name asks for."""

from __future__ import annotations

from pathlib import Path

import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.records import Record
from instruction_counts.report.exporting import Exporter
from instruction_counts.storage.json_files import read_json
from tests.fakes import FakeClock, make_record, make_run


@pytest.mark.parametrize("name", ["r.txt", "r", "r.JSON", "json", ".json"])
def test_an_unknown_format_is_refused_with_the_known_ones(tmp_path: Path, name: str) -> None:
    """Before anything is measured."""
    with pytest.raises(UsageError, match=r"unknown format\n  End the name in .json, .json.gz"):
        Exporter(tmp_path / name)


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Before anything is measured."""
    with pytest.raises(UsageError, match=f"there is no folder {tmp_path}/absent"):
        Exporter(tmp_path / "absent" / "r.json")


def test_a_folder_that_takes_no_file_is_named() -> None:
    """What happens while measuring is reported in the same way."""
    with pytest.raises(UsageError, match=r"--output /proc/r\.json cannot be written: "):
        Exporter(Path("/proc/r.json")).update(make_run())


@pytest.mark.parametrize(
    ("name", "start"), [("r.json", '{\n  "schema_version": 1'), ("r.csv", "label,"), ("r.md", "**")]
)
def test_the_ending_chooses_the_format(tmp_path: Path, name: str, start: str) -> None:
    """Each is written as it is meant to be read."""
    Exporter(tmp_path / name).update(make_run(make_record()))

    assert (tmp_path / name).read_text().startswith(start)


def test_a_compressed_file_comes_back_as_it_was(tmp_path: Path) -> None:
    """It says the same in less space."""
    run = make_run(make_record())
    Exporter(tmp_path / "r.json.gz", FakeClock()).update(run, final=True)

    assert run == read_json(tmp_path / "r.json.gz")


@pytest.mark.parametrize(("name", "expected"), [("r.json", 1), ("r.csv", 0), ("r.md", 0)])
def test_details_are_read_for_the_formats_that_show_them(
    tmp_path: Path, name: str, expected: int
) -> None:
    """Summaries of thousands of cases would read GBs for nothing."""
    asked: list[Record] = []

    def complete(record: Record) -> Record:
        asked.append(record)
        return record

    Exporter(tmp_path / name).update(make_run(make_record()), final=True, complete=complete)

    assert expected == len(asked)


def test_the_first_state_is_written_at_once(tmp_path: Path) -> None:
    """A run that is killed early leaves something."""
    Exporter(tmp_path / "r.json", FakeClock(0)).update(make_run(make_record()))

    assert (tmp_path / "r.json").exists()


def test_a_file_is_not_rewritten_all_the_time(tmp_path: Path) -> None:
    """After a write that took a second comes a pause of twenty."""
    exporter = Exporter(tmp_path / "r.json", FakeClock(1))
    records = [make_record(str(number)) for number in range(30)]
    written = set()
    for count in range(30):
        exporter.update(make_run(*records[:count]))
        written.add(len(read_json(tmp_path / "r.json").cases))

    assert {0, 20} == written


def test_the_last_state_is_always_written(tmp_path: Path) -> None:
    """However short the time since the one before."""
    exporter = Exporter(tmp_path / "r.json", FakeClock(1))
    exporter.update(make_run())
    run = make_run(make_record())
    exporter.update(run, final=True)

    assert run == read_json(tmp_path / "r.json")
