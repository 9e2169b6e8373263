"""Statements as they are typed, with their setup: what becomes definitions."""

from __future__ import annotations

import attrs


@attrs.frozen
class Statements:
    """Statements in one language, perhaps each with a twin in C++, and what they share.

    The words are those of ``GroupedStmts``.
    """

    stmts: tuple[str, ...]
    """In Python, unless ``is_cpp``."""
    is_cpp: bool = False
    cpp_stmts: tuple[str, ...] = ()
    """The C++ twins of ``stmts``, by place; there may be fewer or more of them."""
    py_setup: str = ""
    cpp_setup: str = ""
    global_setup: str = ""
    signature: str | None = None
    """``f(x, y) -> z``; None derives it where it is needed."""
    runtimes: tuple[str, ...] = ()
    """In which they are measured, as options spell them; empty is eager alone."""
    autograd: bool = False
    """Whether forward and backward are measured together, in place of forward alone."""
    gradient: str | None = None
    num_threads: tuple[int, ...] = (1,)
