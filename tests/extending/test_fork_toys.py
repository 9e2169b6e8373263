"""What is added to the fork engine from outside is measured in a build."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TOYS = Path(__file__).with_name("fork_toys.py")
CASES = """\
from core.api import GroupedSetup, GroupedStmts, TimerArgs

BENCHMARKS = {
    "add": GroupedStmts(
        "y = x + x", None, GroupedSetup("x = torch.ones(4)"), "f(x) -> y", runtimes=("packed",)
    ),
    "first": TimerArgs("torch.mm(x, x)", "x = torch.ones(4, 4)", kind="once"),
    "odd": TimerArgs("pass", kind="odd"),
}
"""


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The cases of a run, by label and runtime."""
    folder = tmp_path_factory.mktemp("toys")
    (folder / "cases.py").write_text(CASES)
    options = ("--definitions", "cases.py", "--db", "runs.db", "--output", "run.json")
    done = subprocess.run(
        [sys.executable, str(TOYS), "run", "--no-times", *options],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(TOYS.parents[2])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (folder / "run.json").exists(), done.stdout + done.stderr
    found = json.loads((folder / "run.json").read_text())["cases"]
    return {f"{case['label'][-1]} {case['runtime']}": case["outcome"] for case in found}


@pytest.mark.slow
def test_toys_are_measured(cases: dict[str, Any]) -> None:
    """A runtime with an artefact, a kind without windows, and a metric that a task takes."""
    eager, packed = cases["add eager"], cases["add packed"]
    first, odd = cases["first explicit"], cases["odd explicit"]

    assert packed["instructions"]["per_run"] > eager["instructions"]["per_run"] > 0
    assert 2 == len(first["instructions"]["windows"])
    assert first["instructions"]["per_run"] > 0
    assert [3, 13, 9] == [case["metrics"]["letters"] for case in (eager, packed, first)]
    assert 'unknown kind of case "odd"' in str(odd)
