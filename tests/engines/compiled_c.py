"""C that tests compile: the libraries of counted processes, and programs that use them."""

import shutil
from pathlib import Path

import pytest

from tests.process import called

PROGRAMS = Path(__file__).parents[1] / "fixtures" / "steady"
GCC = shutil.which("gcc") or ""
NEEDS_GCC = pytest.mark.skipif(not GCC, reason="gcc is not installed")


def compile_c(*arguments: str | Path) -> None:
    """Compile with every warning an error."""
    command = ["gcc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread", *map(str, arguments)]
    finished = called(command)
    assert finished.returncode == 0, finished.stderr
