"""The table of what is relied on in CPython."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.process import ROOT, called
from worker import cpython, method_cache
from worker.method_cache import Lookups, MethodCache

KNOWN = {
    "implementation": SimpleNamespace(name="cpython"),
    "abiflags": "",
    "maxsize": sys.maxsize,
    "version_info": (3, 13, 1),
}


@pytest.mark.parametrize(
    ("other", "counters"),
    [
        ({}, [0xFFFC]),
        # From 3.11 on bytecodes have counters.
        ({"version_info": (3, 10, 1)}, [None]),
        ({"implementation": SimpleNamespace(name="pypy")}, []),
        ({"abiflags": "t"}, []),
        ({"maxsize": 2**31 - 1}, []),
        ({"version_info": (3, 15, 0)}, []),
        ({"version_info": (3, 8, 0)}, []),
    ],
    ids=["known", "old", "PyPy", "free-threaded", "32 bits", "newer", "older"],
)
def test_only_versions_of_the_table_are_known(
    monkeypatch: pytest.MonkeyPatch, other: dict[str, Any], counters: list[int | None]
) -> None:
    """Nobody has tried any other interpreter."""
    monkeypatch.setattr(cpython, "sys", SimpleNamespace(**{**KNOWN, **other}))
    found = cpython.facts()

    assert counters == ([found.full_counter] if found else [])


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


CHECK = """
import json
from worker import cpython, method_cache
from worker.main import _running, can_hold_counters

class Looked:
    def up(self):
        pass

def see():
    lookups = method_cache.Lookups()
    for _ in range(method_cache.ROUNDS):
        lookups.begin()
        Looked().up()
        lookups.end()
    return any(row[1:3] == ("Looked", "up") for row in lookups.rows())

facts, code = cpython.facts(), see.__code__
print(json.dumps({
    "moves": method_cache.MethodCache().can_move,
    "sees": see(),
    "holds": can_hold_counters(facts),
    "finds counters": _running(code) is not None,
    "has counters": facts.full_counter is not None,
}))
"""


@pytest.mark.parametrize("minor", range(9, 15))
def test_the_table_holds_for_each_python_that_can_be_had(minor: int) -> None:
    """This one, and those that `pyenv` has beside it; where it does not hold, the table says so."""
    name = f"python3.{minor}"
    beside = Path(sys.base_prefix).parent.glob(f"3.{minor}.*/bin/{name}")
    found = [sys.executable] if sys.version_info[1] == minor else [*map(str, beside)]
    if not found:
        pytest.skip(f"there is no {name}")
    variables = {"PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    seen = json.loads(called([found[0], "-c", CHECK], variables=variables).stdout)

    assert seen.pop("has counters") is seen.pop("finds counters")
    assert seen.pop("holds") is True
    assert dict.fromkeys(("moves", "sees"), minor >= 11) == seen
