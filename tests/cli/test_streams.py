"""Output that may be lost, in one process; `test_processes` has whole commands."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path

import pytest

from instruction_counts.cli.streams import LossyFile, lossy_streams

pytestmark = pytest.mark.faults


def test_what_can_be_written_is_written(tmp_path: Path) -> None:
    """Nothing is lost then."""
    with LossyFile(tmp_path / "out", "w") as file:
        assert 3 == file.write(b"abc")

    assert b"abc" == (tmp_path / "out").read_bytes()
    assert file.lost is None


def test_a_full_disk_loses_output_and_fails_nothing() -> None:
    """The reason is kept."""
    with LossyFile("/dev/full", "w") as file:
        assert [3, 2] == [file.write(b"abc"), file.write(b"de")]

    assert file.lost is not None
    assert errno.ENOSPC == file.lost.errno


def test_a_reader_that_has_gone_away_fails_nothing() -> None:
    """It has seen enough."""
    read_end, write_end = os.pipe()
    os.close(read_end)
    with LossyFile(write_end, "w") as file:
        assert 3 == file.write(b"abc")

    assert file.lost is not None
    assert errno.EPIPE == file.lost.errno


def test_replaced_streams_stay(capsys: pytest.CaptureFixture[str]) -> None:
    """Those of a program that calls this one, or of a test."""
    before = sys.stdout, sys.stderr
    with lossy_streams() as lost:
        assert before == (sys.stdout, sys.stderr)
        sys.stdout.write("shown")

    assert [] == lost
    assert "shown" == capsys.readouterr().out
