"""Files that several processes read and replace."""

from __future__ import annotations

from pathlib import Path

import pytest

from instruction_counts.files import locked


def test_a_file_that_another_one_keeps_is_waited_for_in_vain(tmp_path: Path) -> None:
    """A process that is stopped must not stop all others for ever."""
    path = tmp_path / "file"
    with locked(path), pytest.raises(OSError, match="could not be acquired"), locked(path, 0.1):
        pass


def test_a_file_can_be_locked_again(tmp_path: Path) -> None:
    """Whatever ended the block before."""
    path = tmp_path / "file"
    with pytest.raises(ZeroDivisionError), locked(path):
        raise ZeroDivisionError

    with locked(path, 0.1):
        path.write_text("text")

    assert "text" == path.read_text()


def test_a_folder_that_takes_no_lock_is_an_error() -> None:
    """Instead of a wait until it does."""
    with pytest.raises(OSError, match="No such file"), locked(Path("/proc/file")):
        pass
