"""A user who may start no further process or thread (``ulimit -u``): one line and the remedy."""

from __future__ import annotations

import functools
import os
import pwd
import shlex
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

pytestmark = [pytest.mark.slow, pytest.mark.faults]

ROOT = Path(__file__).resolve().parents[2]
PYTHONS = (sys.executable, "/usr/bin/python{}.{}".format(*sys.version_info))
SEARCHED = f"{ROOT}:{sysconfig.get_path('purelib')}"
USER = "nobody"


def as_user(*command: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command of a user who owns nothing, and has no other process; root has no limit."""
    become = ["setpriv", f"--reuid={USER}", "--regid=65534", "--clear-groups"]
    return subprocess.run(
        [*become, *command],
        cwd=ROOT,
        env={"PATH": os.defpath, "PYTHONPATH": SEARCHED, "PYTHONDONTWRITEBYTECODE": "1"}
        | variables,
        capture_output=True,
        text=True,
        check=False,
    )


@functools.cache
def interpreter() -> str:
    """One that this user can start the program with; skips the test where there is none."""
    reason = "only root can run a program as a user without other processes"
    for python in PYTHONS if os.getuid() == 0 else ():
        try:
            done = as_user("prlimit", "--nproc=9", python, "main.py", "list", "--help")
        except OSError as error:
            pytest.skip(str(error))
        if not done.returncode:
            return python
        reason = f"{USER} cannot run {python}: {done.stderr.strip()[-200:]}"
    pytest.skip(reason)


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that any user may read and write, with a build and a definition file."""
    python = interpreter()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o777)
        searched, program = shlex.quote(SEARCHED), shlex.quote(python)
        (folder / "python").write_text(f'#!/bin/sh\nPYTHONPATH={searched} exec {program} "$@"\n')
        (folder / "python").chmod(0o755)
        case = "from core.api import TimerArgs\nBENCHMARKS = {'a': TimerArgs('torch.ones(1)')}\n"
        (folder / "cases.py").write_text(case)
        yield folder


def folders_of_user() -> set[Path]:
    """The temporary folders that the program made for this user."""
    user = pwd.getpwnam(USER).pw_uid
    found = Path(tempfile.gettempdir()).glob("instruction-counts.*")
    return {path for path in found if path.lstat().st_uid == user}


@pytest.mark.parametrize(
    ("limit", "engine"), [(1, "timer"), (2, "timer"), (3, "timer"), (4, "timer"), (4, "fork")]
)
def test_a_user_who_can_start_nothing_learns_why(limit: int, engine: str, folder: Path) -> None:
    """Whatever it is that cannot be started: a probe, its keeper, a reader of output, a lane."""
    before = folders_of_user()
    options = [f"--build={folder / 'python'}", f"--definitions={folder / 'cases.py'}", "--jobs=8"]
    done = as_user(
        *("prlimit", f"--nproc={limit}", interpreter(), "main.py", "run", "--no-counts"),
        *(f"--engine={engine}", *options),
        HOME=str(folder),
        XDG_DATA_HOME=str(folder),
        INSTRUCTION_COUNTS_CACHE=str(folder / "cache"),
    )
    lines = done.stderr.splitlines()

    assert 1 == done.returncode, done.stderr
    assert "Stop other processes, or raise the limit: ulimit -u" == lines[-1].strip()
    assert any(
        said in lines[-2]
        for said in ("no further thread can be started", "Resource temporarily unavailable")
    )
    assert "Traceback" not in done.stderr
    assert set() == folders_of_user() - before
