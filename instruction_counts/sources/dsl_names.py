"""The packages that definition files import, ``core`` and ``definitions``, by these names."""

from __future__ import annotations

import contextlib
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

from instruction_counts.system.program import HOME


@contextlib.contextmanager
def dsl_names() -> Iterator[None]:
    """Let ``core`` and ``definitions`` be imported, from a checkout as from an installed program.

    Other packages of these names are set aside meanwhile, and are back in place afterwards.
    """
    others = _taken_out()
    try:
        _import_from_home("core", "definitions")
        yield
    finally:
        _taken_out()
        sys.modules.update(others)


def _import_from_home(*names: str) -> None:
    sys.path.insert(0, str(HOME))
    try:
        for name in names:
            importlib.import_module(name)
    finally:
        sys.path.remove(str(HOME))  # what else lies there has no such names


def _taken_out() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name.partition(".")[0] in {"core", "definitions"}]
    return {name: sys.modules.pop(name) for name in names}
