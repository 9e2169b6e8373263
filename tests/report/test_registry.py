"""The registry of report formats: whoever registers one can write it."""

from __future__ import annotations

import gzip
from collections.abc import Iterator
from pathlib import Path

import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.records import Run
from instruction_counts.report.formats.entry import CheckReport, ComparisonReport, Format
from instruction_counts.report.registry import (
    Destination,
    names_for,
    register,
    suffixes_for,
    unregister,
)
from tests.fakes import make_record, make_run

TOY = Format("toy", (".toy", ".toy.gz"), {Run: lambda run: f"{len(run.cases)} cases"})


@pytest.fixture
def _toy() -> Iterator[None]:
    """A format from outside."""
    register(TOY)
    yield
    unregister("toy")


@pytest.mark.usefixtures("_toy")
def test_a_registered_format_is_written_by_its_suffix(tmp_path: Path) -> None:
    """Compressed where the suffix says so."""
    run = make_run(make_record("a"))
    for name in ("r.toy", "r.toy.gz"):
        Destination.of(tmp_path / name, Run).write(run)

    assert (tmp_path / "r.toy").read_text() == "1 cases"
    assert gzip.decompress((tmp_path / "r.toy.gz").read_bytes()) == b"1 cases"


@pytest.mark.usefixtures("_toy")
def test_a_format_is_offered_for_what_it_shows_alone() -> None:
    """A run, and no comparison."""
    assert "toy" in names_for(Run)
    assert ".toy" not in suffixes_for(ComparisonReport)


@pytest.mark.parametrize("entry", [Format("json", (".x",), {}), Format("x", (".md",), {})])
def test_a_name_or_suffix_that_is_taken_is_refused(entry: Format) -> None:
    """Else one format would hide another."""
    with pytest.raises(ValueError, match="already known"):
        register(entry)


def test_a_format_that_cannot_show_it_is_refused(tmp_path: Path) -> None:
    """With those that can."""
    with pytest.raises(UsageError, match=r"unknown format\n  End the name in .json, .json.gz, .md"):
        Destination.of(tmp_path / "check.csv", CheckReport)
