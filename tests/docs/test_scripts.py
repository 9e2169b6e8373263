"""The pictures of README can be made anew, and the recording shows what the program does."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import pictures, recording
from tests.real import NEEDS_VALGRIND_AND_COMPILER


@pytest.mark.slow
@pytest.mark.thorough
def test_each_command_gets_a_picture_of_what_it_prints(tmp_path: Path) -> None:
    """From the run that is part of the docs; nothing in a picture asks another host."""
    pictures.main(tmp_path)
    made = {path.stem: path.read_text(encoding="utf-8") for path in tmp_path.glob("*.svg")}

    assert set(pictures.COMMANDS) == set(made)
    assert all("Linear.forward" in text.replace("&#160;", " ") for text in made.values())
    assert not any("@font-face" in text for text in made.values())
    if pictures.CHROMIUM is not None:
        assert (tmp_path / "flame.png").read_bytes().startswith(b"\x89PNG")


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
