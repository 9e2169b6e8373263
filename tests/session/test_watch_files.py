"""Where a watch keeps its state."""

from __future__ import annotations

from pathlib import Path

import pytest

from instruction_counts.session.watch_files import state_file_of


def test_each_watch_has_a_file_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is the same one each time."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    files = [state_file_of(watched) for watched in ("a", "b", "a")]

    assert files[0] == files[2] != files[1]
    assert [tmp_path / "instruction-counts"] * 3 == [file.parent for file in files]
