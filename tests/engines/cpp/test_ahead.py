"""Compiling before a lane asks for it."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path

from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.cpp.process import CompileError
from instruction_counts.engines.cpp.source import CppSource
from instruction_counts.system.cache import Cache
from tests.fakes import FACTS

SOURCES = [CppSource("", "", stmt) for stmt in ("a;", "b;", "broken;", "c;")]


class Recording(Compiler):
    """Compiles nothing, and says what it was asked for and where."""

    def __init__(self, folder: Path, *known: str) -> None:
        super().__init__(FACTS, Cache(folder))
        self.known, self.asked = {*known}, list[tuple[str, tuple[int, ...]]]()

    def has(self, source: CppSource) -> bool:
        """Whether it was compiled."""
        return source.stmt in self.known

    def case(self, source: CppSource, cores: tuple[int, ...] = ()) -> Path:
        """Note it; what is broken does not compile."""
        self.asked.append((source.stmt, cores))
        if source.stmt == "broken;":
            raise CompileError(Failure(FailureKind.COMPILE, "broken"))
        self.known.add(source.stmt)
        return Path()


@contextlib.contextmanager
def core(is_late: Callable[[], bool]) -> Iterator[tuple[int, ...]]:
    """Core 7, for those who are not late."""
    yield () if is_late() else (7,)


def test_each_case_is_compiled_on_a_core(tmp_path: Path) -> None:
    """What is there already is left out; what does not compile holds nothing up."""
    compiler = Recording(tmp_path, "b;")
    compiler.compile_ahead(SOURCES, core)

    assert [(text, (7,)) for text in ("a;", "broken;", "c;")] == compiler.asked


def test_nothing_is_compiled_once_the_compiler_is_closed(tmp_path: Path) -> None:
    """A run that was interrupted ends at once."""
    compiler = Recording(tmp_path)
    compiler.close()
    compiler.compile_ahead(SOURCES, core)

    assert [] == compiler.asked
