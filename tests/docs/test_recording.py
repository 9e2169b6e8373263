"""The recording of the first minute shows what the program does."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import recording
from tests.real import NEEDS_VALGRIND_AND_COMPILER


def test_the_page_shows_the_commands_that_are_recorded() -> None:
    """Whoever changes them records again."""
    assert recording.COMMANDS == tuple(typed.command for typed in recording.recorded())


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Where the commands are typed; the copy of an environment in it is large, and goes."""
    yield tmp_path
    shutil.rmtree(tmp_path / "patched", ignore_errors=True)


@pytest.mark.slow
@pytest.mark.thorough
@NEEDS_VALGRIND_AND_COMPILER
@pytest.mark.skipif(sys.prefix == sys.base_prefix, reason="torch is in no virtual environment")
def test_the_commands_print_what_was_recorded(folder: Path) -> None:
    """But for numbers, which differ from machine to machine."""
    assert recording.stable(recording.recorded()) == recording.stable(recording.record(folder))
