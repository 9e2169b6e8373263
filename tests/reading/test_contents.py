"""The bytes of a file, packed or not."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from instruction_counts.domain.errors import DataError, ValidationError
from instruction_counts.reading import documents
from instruction_counts.reading.contents import read_bytes


@pytest.mark.parametrize("name", ["a.json", "a.json.gz", "a.json.GZ"])
@pytest.mark.parametrize(("most", "expected"), [(100, b"content"), (3, b"con"), (0, b"")])
def test_a_file_is_read_up_to_a_limit(
    tmp_path: Path, name: str, most: int, expected: bytes
) -> None:
    """Unpacked where its name says so: few bytes can unpack to more than any memory holds."""
    packed = name.lower().endswith(".gz")
    (tmp_path / name).write_bytes(gzip.compress(b"content") if packed else b"content")

    assert expected == read_bytes(tmp_path / name, most)


def test_a_device_without_an_end_is_read_up_to_the_limit() -> None:
    """More than one chunk of it."""
    assert bytes(3 << 20) == read_bytes(Path("/dev/zero"), 3 << 20)


@pytest.mark.parametrize(
    "content",
    [b"no gzip", gzip.compress(b"content")[:-4], gzip.compress(bytes(99))[:-12] + b"x" * 12],
    # Packed bytes tell the time of day.
    ids=["not packed", "cut", "damaged"],
)
def test_what_cannot_be_unpacked_is_reported(tmp_path: Path, content: bytes) -> None:
    """With the remedy."""
    (tmp_path / "a.gz").write_bytes(content)
    with pytest.raises(DataError, match="cannot be unpacked: ") as caught:
        read_bytes(tmp_path / "a.gz", 1000)

    assert "copy it again" in caught.value.remedy


def test_a_file_that_is_not_there_is_reported(tmp_path: Path) -> None:
    """In the words of the system."""
    with pytest.raises(DataError, match="none: No such file or directory"):
        read_bytes(tmp_path / "none", 1)


def test_a_document_that_unpacks_to_too_much_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that is as large itself."""
    path = tmp_path / "check.json.gz"
    path.write_bytes(gzip.compress(b" " * (3 << 20)))
    monkeypatch.setattr(documents, "_LARGEST", 1 << 20)

    with pytest.raises(ValidationError, match="a file of at most 1 MiB"):
        documents.read(path, as_json=True)
