"""The table of what is relied on in CPython."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest

from worker import cpython, method_cache
from worker.method_cache import Lookups, MethodCache

KNOWN = {
    "implementation": SimpleNamespace(name="cpython"),
    "abiflags": "",
    "maxsize": sys.maxsize,
    "version_info": (3, 13, 1),
}


def test_a_version_of_the_table_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """From 3.11 on bytecodes have counters."""
    monkeypatch.setattr(cpython, "sys", SimpleNamespace(**KNOWN))
    new = cpython.facts()
    monkeypatch.setattr(cpython.sys, "version_info", (3, 10, 1))
    old = cpython.facts()

    assert new is not None
    assert old is not None
    assert (0xFFFC, None) == (new.full_counter, old.full_counter)


@pytest.mark.parametrize(
    "other",
    [
        {"implementation": SimpleNamespace(name="pypy")},
        {"abiflags": "t"},
        {"maxsize": 2**31 - 1},
        {"version_info": (3, 15, 0)},
        {"version_info": (3, 8, 0)},
    ],
    ids=["PyPy", "free-threaded", "32 bits", "newer", "older"],
)
def test_nothing_is_known_of_another_interpreter(
    monkeypatch: pytest.MonkeyPatch, other: dict[str, Any]
) -> None:
    """Nobody has tried it."""
    monkeypatch.setattr(cpython, "sys", SimpleNamespace(**{**KNOWN, **other}))

    assert cpython.facts() is None


@pytest.mark.parametrize("fact", ["unknown", "wrong"])
def test_where_a_fact_does_not_hold_nothing_is_moved(
    monkeypatch: pytest.MonkeyPatch, fact: str
) -> None:
    """It would be written and read somewhere else."""
    if fact == "unknown":
        monkeypatch.setattr(method_cache, "_FACTS", None)
    monkeypatch.setattr(method_cache, "_VERSION_OFFSET", 24)  # of the name of a type
    cache = MethodCache()

    assert cache.can_move is False
    assert 0 == cache.separate([("builtins", "int", "real", 0)])
    assert [] == Lookups().rows()
