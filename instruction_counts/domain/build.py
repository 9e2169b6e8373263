"""A build under test: an interpreter, and the environment that it needs."""

from __future__ import annotations

import sys
from collections.abc import Mapping

import attrs

DEFAULT_NAME = "default"


@attrs.frozen
class Build:
    """One build of torch, as its user names it.

    ``python`` is the interpreter. Where it is None, it is that of an environment which is made of
    ``lock``, the text of a lock file; where that is empty, the ``python`` that ``source_cmd`` puts
    first on PATH. ``env`` is added to the hermetic environment, and wins over it. ``compiler`` is
    what compiles its C++ cases: ``clang``, ``g++`` or a path; empty for the usual one.
    """

    name: str
    python: str | None = None
    source_cmd: str | None = None
    env: Mapping[str, str] = attrs.field(factory=dict, hash=False)
    compiler: str = ""
    lock: str = ""


def default_build() -> Build:
    """The interpreter that runs this program."""
    return Build(DEFAULT_NAME, sys.executable)
