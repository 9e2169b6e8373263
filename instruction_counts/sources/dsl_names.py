"""The packages that definition files import, ``core`` and ``definitions``, by these names."""

from __future__ import annotations

import contextlib
import importlib
import pkgutil
import sys
from collections.abc import Iterator
from types import ModuleType

import core

# Empty in a checkout. Where this program is installed, the packages lie inside it.
_PARENT = core.__name__.rpartition(".")[0]


@contextlib.contextmanager
def dsl_names() -> Iterator[None]:
    """Let ``core`` and ``definitions`` be imported, wherever this program is installed.

    Other packages of these names are set aside meanwhile, and are back in place afterwards.
    """
    if not _PARENT:  # both are packages at the top of the checkout
        yield
        return
    others = _taken_out()
    sys.modules.update(_packages(_PARENT))
    try:
        yield
    finally:
        _taken_out()
        sys.modules.update(others)


def _packages(parent: str) -> dict[str, ModuleType]:
    # Each module of core, for there must be one class of each name; definitions are but values.
    below = pkgutil.walk_packages(core.__path__, f"{core.__name__}.")
    names = ["core", *(module.name.removeprefix(f"{parent}.") for module in below)]
    return {name: importlib.import_module(f"{parent}.{name}") for name in [*names, "definitions"]}


def _taken_out() -> dict[str, ModuleType]:
    names = [name for name in sys.modules if name.partition(".")[0] in {"core", "definitions"}]
    return {name: sys.modules.pop(name) for name in names}
