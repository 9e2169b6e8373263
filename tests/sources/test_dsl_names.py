"""The names that definition files import."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

import pytest

from instruction_counts import core
from instruction_counts.core import api, errors
from instruction_counts.core.runtimes import torchscript
from instruction_counts.sources.dsl_names import dsl_names


def test_the_core_has_one_copy_of_each_module() -> None:
    """A class of a second copy would be no class of the first."""
    with dsl_names():
        found = [
            importlib.import_module(name)
            for name in ("core", "core.api", "core.errors", "core.runtimes.torchscript")
        ]

    assert list(map(id, (core, api, errors, torchscript))) == list(map(id, found))


def test_packages_of_the_same_names_are_back_afterwards(monkeypatch: pytest.MonkeyPatch) -> None:
    """Those of somebody else's program."""
    others = {name: ModuleType(name) for name in ("core", "core.api", "definitions")}
    for name, module in others.items():
        monkeypatch.setitem(sys.modules, name, module)
    before = list(sys.path)

    with dsl_names():
        assert importlib.import_module("core.api") is api

    assert others == {name: sys.modules[name] for name in others}
    assert before == sys.path
