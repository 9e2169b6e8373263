"""Compiling before a lane asks for it: while servers start, and beside Python cases."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.cpp.process import CompileError
from instruction_counts.engines.cpp.source import CppSource
from instruction_counts.engines.engine import Lend


def compile_ahead(compiler: Compiler, sources: Sequence[CppSource], lend: Lend) -> None:
    """Compile what is not in the cache: the headers, then case after case, on a core from ``lend``.

    The core goes back after each case, so that lanes have their turns. What does not compile is
    tried again by the lane that needs it, which reports it.
    """
    missing: list[CppSource] = []
    # A lane that has the core meanwhile would mostly wait for a server that starts.
    with contextlib.suppress(CompileError), lend(lambda: compiler.is_closed) as cores:
        if cores:
            missing += [source for source in sources if not compiler.has(source)]
            compiler.precompile(missing, cores)
    for source in missing:
        if compiler.has(source):  # a lane was faster
            continue
        with contextlib.suppress(CompileError), lend(lambda: compiler.is_closed) as cores:
            if not cores:
                return
            compiler.case(source, cores)
