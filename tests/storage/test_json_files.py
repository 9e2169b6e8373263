"""Result files: of one version, whole, of a limited size; a file where nothing else is left."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import attrs
import pytest

from instruction_counts.domain.errors import DataError
from instruction_counts.domain.outcomes import Details
from instruction_counts.domain.records import Record
from instruction_counts.storage.json_files import (
    from_json,
    keep,
    read_json,
    to_json,
)
from tests.fakes import make_record, make_run

RUN = make_run(make_record("a"), make_record("b"))


def test_each_case_has_a_line_of_its_own() -> None:
    """Large files can be searched and compared line by line."""
    lines = to_json(RUN).splitlines()

    assert 2 == sum(line.startswith('    {"label": ') for line in lines)


@pytest.mark.parametrize(
    ("text", "version"),
    [
        *((json.dumps({"schema_version": version}), version) for version in (0, 2, "1", True, [1])),
        *((text, None) for text in ("[]", "3", '"x"', "null", "{}")),
    ],
)
def test_another_schema_version_is_refused(text: str, version: Any) -> None:
    """Before anything else of the file is looked at."""
    with pytest.raises(DataError) as caught:
        from_json(text, "old.json")

    assert f"old.json: schema_version is {version!r}, and this program reads 1" == (
        caught.value.message
    )
    assert "measure again" in caught.value.remedy


@pytest.mark.parametrize("text", ["", "{", "not json", '{"schema_version": 1', to_json(RUN)[:-900]])
@pytest.mark.faults
def test_text_that_is_no_json_or_was_cut_is_refused(text: str) -> None:
    """With the place where it ends to be JSON."""
    with pytest.raises(DataError, match=r"^cut\.json is not JSON: .*\(char \d+\)"):
        from_json(text, "cut.json")


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """With the reason of the system, or what is wrong in it."""
    (tmp_path / "bytes.json").write_bytes(b"\xff")
    with pytest.raises(DataError, match=r"absent\.json: No such file"):
        read_json(tmp_path / "absent.json")
    with pytest.raises(DataError, match=r"bytes\.json is not JSON: .*0xff"):
        read_json(tmp_path / "bytes.json")


@pytest.mark.parametrize("share", [0.0, 0.3, 0.9])
@pytest.mark.faults
def test_a_damaged_compressed_file_is_refused(tmp_path: Path, share: float) -> None:
    """With its name and a remedy, and no traceback."""
    data = gzip.compress(to_json(RUN).encode())
    path = tmp_path / "r.json.gz"
    path.write_bytes(data[: int(share * len(data))] + b"x")

    with pytest.raises(DataError, match=r"r\.json\.gz cannot be unpacked: .*\n.*measure again"):
        read_json(path)


@pytest.mark.parametrize("name", ["bomb.json", "bomb.json.gz"])
@pytest.mark.faults
def test_a_file_that_holds_too_much_is_refused(tmp_path: Path, name: str) -> None:
    """What is unpacked counts."""
    path = tmp_path / name
    data = b" " * (3 << 20) + to_json(RUN).encode()
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)

    with pytest.raises(DataError, match="holds more than 2 MiB, unpacked"):
        read_json(path, largest_mib=2)
    assert RUN == read_json(path, largest_mib=4)


# What cannot be stored


def complete(record: Record) -> Record:
    """As a database that has lost the details of one case."""
    if record.label == ("b",):
        raise DataError("it is gone")
    return attrs.evolve(RUN.cases[0], stored_in=None)


def test_a_run_is_kept_where_somebody_finds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With all details that can still be read."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    light = [record.without_details(1) for record in RUN.cases]
    path = keep(make_run(*light), complete)

    assert path is not None
    assert tmp_path / "instruction-counts" == path.parent
    assert (RUN.cases[0], RUN.cases[1].with_details(Details())) == read_json(path).cases


def test_a_run_is_kept_with_temporary_files_where_nothing_else_takes_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or nowhere, which is said."""
    monkeypatch.setenv("XDG_DATA_HOME", "/proc/none")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    path = keep(RUN, lambda record: record)
    monkeypatch.setattr("tempfile.tempdir", "/proc/none")

    assert path is not None
    assert tmp_path == path.parent
    assert keep(RUN, lambda record: record) is None
