"""The worker as a build sees it: its folder, an interpreter, and nothing of this project."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from instruction_counts.system.worker_process import PROTOCOL_VERSION, WORKER
from instruction_counts.system.worker_tasks import COUNTED
from tests.process import called


@pytest.fixture
def alone(tmp_path: Path) -> Path:
    """A copy of the worker in a folder that holds nothing else of this project."""
    shutil.copytree(WORKER.parent, tmp_path / "copy", ignore=shutil.ignore_patterns("__*"))
    return tmp_path / "copy" / "main.py"


def test_it_ends_when_its_controller_leaves(alone: Path) -> None:
    """A closed channel means that nobody listens."""
    read_end, write_end = os.pipe()
    answers, answers_write = os.pipe()
    process = subprocess.Popen(
        [sys.executable, alone, "--read-fd", str(read_end), "--write-fd", str(answers_write)],
        pass_fds=(read_end, answers_write),
    )
    for descriptor in (read_end, write_end, answers_write):
        os.close(descriptor)
    with os.fdopen(answers) as lines:
        hello = json.loads(lines.readline())

    assert "hello" == hello["type"]
    assert PROTOCOL_VERSION == hello["protocol"]
    assert 0 == process.wait(300)


def test_only_what_counts_is_loaded_by_itself(alone: Path) -> None:
    """A module of tasks comes with the first request for one, torch when its variables are set."""
    script = "import sys, main; print('torch' in sys.modules); main.neighbour('capability')"
    for path in alone.parent.glob("*.py"):
        if path not in {alone.with_name(counted.name) for counted in COUNTED}:
            path.write_text("raise SystemExit('loaded')")
    done = called([sys.executable, "-c", script], alone.parent)

    assert ("False\n", "loaded\n") == (done.stdout, done.stderr)
