"""Stored runs whose database is opened late, or never."""

from __future__ import annotations

from pathlib import Path

import attrs
import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.session.lazy_store import LazyStore
from instruction_counts.system.program import DATABASE_VARIABLE
from tests.fakes import make_record, make_run


def test_nothing_is_opened_for_what_is_in_memory(tmp_path: Path) -> None:
    """A record that was never stored is whole."""
    record = make_record()
    with LazyStore(str(tmp_path / "runs.db")) as runs:
        assert record == runs.completed(record)

    assert [] == list(tmp_path.iterdir())


def test_the_database_is_made_for_what_is_stored_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where no option names one and there is none, there is no such run; the newest is the last."""
    monkeypatch.setenv(DATABASE_VARIABLE, str(tmp_path / "runs.db"))
    with LazyStore(None) as runs:
        assert runs.find("nightly") is None
        assert [] == runs.similar_tags("nightly")
        assert [] == list(tmp_path.iterdir())
        numbers = [runs.opened().import_run(make_run(make_record(name))) for name in "ab"]

        assert numbers[-1] == runs.find("last")


def test_a_database_that_has_to_exist_is_not_made(tmp_path: Path) -> None:
    """A record whose details are in it needs it, and so does a run in one that was named."""
    record = attrs.evolve(make_record(), stored_in=7)
    with LazyStore(str(tmp_path / "runs.db")) as runs:
        for ask in (lambda: runs.completed(record), lambda: runs.find("nightly")):
            with pytest.raises(UsageError, match="there is no such database"):
                ask()

    assert [] == list(tmp_path.iterdir())
