"""The tests themselves: they are the same and pass wherever and however they are started."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import COLLECTED

ROOT = Path(__file__).resolve().parents[1]
PYTEST = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider"]
# Without what tells that a test asks.
ENVIRONMENT = {name: text for name, text in os.environ.items() if not name.startswith("PYTEST_")}
OTHER_CLOCK = """
import time
now, now_ns = time.time, time.time_ns
time.time = lambda: now() + 123_456_789
time.time_ns = lambda: now_ns() + 123_456_789_000_000_000
"""


def started(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command that does not know of this session, and has no input."""
    return subprocess.run(
        command,
        cwd=folder,
        env={**ENVIRONMENT, **variables},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
@pytest.mark.thorough
def test_their_ids_depend_on_no_clock_seed_or_folder(
    tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Or two workers may disagree about them, and none runs. What this session has is compared."""
    collected = request.config.stash[COLLECTED]
    folder = tmp_path / "another folder, für alle"
    left_out = shutil.ignore_patterns(".*", "build", "*.egg-info")
    shutil.copytree(ROOT, folder, symlinks=True, ignore=left_out)
    (tmp_path / "sitecustomize.py").write_text(OTHER_CLOCK)
    changed = {
        "PYTHONPATH": str(tmp_path),
        "PYTHONHASHSEED": "4711",
        "TZ": "Pacific/Auckland",
        "TMPDIR": str(tmp_path),
    }
    files = dict.fromkeys(nodeid.partition("::")[0] for nodeid in collected)
    done = started([*PYTEST, "--collect-only", "-q", *files], folder, **changed)

    assert 0 == done.returncode, done.stdout + done.stderr
    assert sorted(collected) == sorted(line for line in done.stdout.splitlines() if "::" in line)


@pytest.mark.parametrize("processes", [0, 1])
def test_they_begin_with_default_signals(processes: int) -> None:
    """Also in the background and under nohup, where some are ignored."""
    shell = ["sh", "-c", 'trap "" INT QUIT HUP TERM; exec "$@"', "sh"]
    tests = ROOT / "tests" / "cli" / "test_surroundings.py"
    done = started([*shell, *PYTEST, "-n", str(processes), str(tests)], ROOT)

    assert 0 == done.returncode, done.stdout
