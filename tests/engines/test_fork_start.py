"""What becomes of the fork engine's folder where the engine cannot be made."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.cpp.process import CompileError
from instruction_counts.engines.engine import Profile
from instruction_counts.engines.fork import ForkEngine
from instruction_counts.system.cache import Cache
from tests.fakes import FACTS


class BrokenCompiler(Compiler):
    """It has no library for the counted process, or one that cannot be read."""

    def __init__(self, answer: Path | Exception) -> None:
        super().__init__(FACTS, Cache(), {})
        self._answer = answer

    def native(self, name: str) -> Path:
        """The library that is not there."""
        del name
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


@pytest.mark.parametrize(
    "answer",
    [CompileError(Failure(FailureKind.COMPILE, "no compiler")), Path("/nowhere/steady.so")],
    ids=["no compiler", "no file"],
)
def test_an_engine_that_cannot_be_made_leaves_no_folder(answer: Path | Exception) -> None:
    """Neither of its own nor for its servers."""
    before = set(Path(tempfile.gettempdir()).glob("instruction-counts.*"))
    with pytest.raises((CompileError, FileNotFoundError)):
        ForkEngine(FACTS, BrokenCompiler(answer), Profile(), lambda _: None)
    after = set(Path(tempfile.gettempdir()).glob("instruction-counts.*"))

    assert set() == after - before
