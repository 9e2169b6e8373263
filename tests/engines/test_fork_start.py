"""What becomes of the fork engine's folder where the engine cannot be made."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.engine import Profile
from instruction_counts.engines.fork import ForkEngine
from instruction_counts.system.cache import Cache
from tests.fakes import FACTS


class WithoutLibraries(Compiler):
    """Its libraries for the counted process cannot be read."""

    def native(self, name: str) -> Path:
        """A library that is not there."""
        return Path("/nowhere", name)


def test_an_engine_that_cannot_be_made_leaves_no_folder() -> None:
    """Neither of its own nor for its servers."""
    before = set(Path(tempfile.gettempdir()).glob("instruction-counts.*"))
    with pytest.raises(FileNotFoundError):
        ForkEngine(FACTS, WithoutLibraries(FACTS, Cache(), {}), Profile(), lambda _: None)
    after = set(Path(tempfile.gettempdir()).glob("instruction-counts.*"))

    assert set() == after - before
