"""Machines that are short of something: one line, the remedy, exit code 1, and nothing left."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

pytestmark = pytest.mark.faults

ROOT = Path(__file__).resolve().parents[2]
NAMESPACE = ["unshare", "--mount", *([] if os.getuid() == 0 else ["--user", "--map-root-user"])]
FULL_SHM = """
mount -t tmpfs -o size=64k tmpfs /dev/shm
head -c 1000000 /dev/zero > /dev/shm/full 2> /dev/null
exec "$@"
"""
FULL_TMP = """
mount --bind "$ROOT" /mnt
mount -t tmpfs -o nr_inodes=1 tmpfs /tmp
cd /mnt
"$@"
code=$?
ls -A /tmp >&2
exit $code
"""


@functools.cache
def why_no_mounts() -> str:
    """Why this machine does not let tests mount anything; empty where it does."""
    if shutil.which("unshare") is None:
        return "there is no unshare"
    script = "mount -t tmpfs tmpfs /dev/shm"
    done = subprocess.run(
        [*NAMESPACE, "sh", "-c", script], capture_output=True, text=True, check=False
    )
    return done.stderr.strip()


def python() -> str:
    """The interpreter, also where /tmp is hidden and this checkout is seen elsewhere."""
    path = Path(sys.prefix).resolve() / "bin" / "python"
    if path.is_relative_to(ROOT):
        return str(path.relative_to(ROOT))
    if Path("/tmp") in path.parents:  # noqa: S108 - it is hidden
        pytest.skip(f"{path} is below /tmp, which is hidden here")
    return str(path)


def run_in(script: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """The program after ``script`` made some folder unusable."""
    if reason := why_no_mounts():
        pytest.skip(f"nothing can be mounted: {reason}")
    definitions = folder / "cases.py"
    definitions.write_text(
        "from core.api import TimerArgs\nBENCHMARKS = {'a': TimerArgs('torch.ones(1)')}\n"
    )
    program = [python(), "main.py", "run", "--engine", "timer", "--no-counts"]
    variables = {"ROOT": str(ROOT), "INSTRUCTION_COUNTS_CACHE": str(folder / "cache")}
    if os.getuid():  # in the namespace it is another user
        variables["INSTRUCTION_COUNTS_RUNTIME"] = str(folder / "runtime")
    return subprocess.run(
        [*NAMESPACE, "sh", "-c", script, "sh", *program, "--definitions", str(definitions)],
        cwd=ROOT,
        env={**os.environ, **variables, "XDG_DATA_HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_shared_memory_that_is_full_is_named(tmp_path: Path) -> None:
    """Locks between threads lie there."""
    done = run_in(FULL_SHM, tmp_path)
    (line, remedy) = done.stderr.splitlines()[-2:]

    assert 1 == done.returncode
    assert "No space left on device" == line
    assert "Free some space there; for temporary files: df -h /tmp /dev/shm" == remedy.strip()
    assert "Traceback" not in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "message"),
    [(FULL_TMP, "No space left on device: /tmp/instruction-counts.")],
    ids=["full"],
)
def test_a_folder_for_temporary_files_that_is_full_is_named(script: str, message: str) -> None:
    """And nothing is left in it."""
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        done = run_in(script, Path(folder))
    (line, remedy) = done.stderr.splitlines()

    assert 1 == done.returncode
    assert line.startswith(message)
    assert "df -h /tmp" in remedy


@pytest.mark.parametrize(
    ("command", "remedy"),
    [(["runs", "list"], "XDG_DATA_HOME"), (["cache", "show"], "INSTRUCTION_COUNTS_CACHE")],
    ids=["data", "cache"],
)
def test_a_home_that_takes_no_folder_is_named(command: list[str], remedy: str) -> None:
    """Where a daemon runs the program, for example."""
    done = subprocess.run(
        [sys.executable, "main.py", *command],
        cwd=ROOT,
        env={"PATH": os.environ["PATH"], "HOME": "/proc"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert 1 == done.returncode
    assert done.stderr.startswith("the folder /proc/.")
    assert 2 == len(done.stderr.splitlines())
    assert remedy in done.stderr
