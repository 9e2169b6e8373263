"""Stored runs whose database is opened late, or never."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.session.lazy_store import LazyStore
from tests.fakes import make_record


def test_nothing_is_opened_for_what_is_in_memory(tmp_path: Path) -> None:
    """A record that was never stored is whole."""
    record = make_record()
    with LazyStore(str(tmp_path / "runs.db"), must_exist=False) as runs:
        assert record == runs.completed(record)

    assert [] == list(tmp_path.iterdir())


def test_the_database_is_made_for_the_first_question(tmp_path: Path) -> None:
    """Where it need not exist."""
    with LazyStore(str(tmp_path / "runs.db"), must_exist=False) as runs:
        assert runs.find("nightly") is None

    assert (tmp_path / "runs.db").exists()


def test_a_database_that_has_to_exist_is_not_made(tmp_path: Path) -> None:
    """A record whose details are in it needs it."""
    record = attrs.evolve(make_record(), stored_in=7)
    with (
        LazyStore(str(tmp_path / "runs.db")) as runs,
        pytest.raises(UsageError, match="there is no such database"),
    ):
        runs.completed(record)
