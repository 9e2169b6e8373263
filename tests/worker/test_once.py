"""First runs, as the worker makes them in a real Python."""

import gc
import os
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch  # noqa: F401 - operators are those of a torch that is there before

from worker.executed import once_bytecodes, once_operators
from worker.once import once, once_timed

SHIM: Any = SimpleNamespace(
    **dict.fromkeys(("idle_hooks", "clock_hooks", "count_hooks"), (list, list)),
    clock_s=float,
    allocations=bin,
)


@pytest.mark.parametrize("task", [once, once_timed, once_bytecodes, once_operators])
def test_a_first_run_does_not_follow_the_links_to_a_build(
    task: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Some look for the source of every module: the more folders, the more instructions."""
    (tmp_path / "build").symlink_to(tmp_path / "far" / "away")
    monkeypatch.chdir(tmp_path)
    setup = "import builtins, os\nbuiltins.seen_here = seen = []"
    stmt = "seen.append(os.path.realpath(os.getcwd() + '/build'))"
    request = {"layout": 0, "dumps": "cg"}
    case = {"stmt": stmt, "setup": setup, "imports": (), "num_threads": 1}
    task({**request, "case": case}, SHIM)
    gc.enable()  # it is off in a child
    seen: list[str] = vars(__import__("builtins")).pop("seen_here")

    assert [str(tmp_path / "build")] == seen
    assert str(tmp_path / "far" / "away") == os.path.realpath("build")
