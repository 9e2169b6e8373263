"""The keeper: whatever a command leaves behind ends with it."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.waiting import comes_true, ends_soon

pytestmark = pytest.mark.faults

KEEPER = Path(__file__).resolve().parents[2] / "worker" / "keeper.py"
VARIABLES = [b"PATH=" + os.defpath.encode(), b"ZEBRA=a=b", b"ANT=\xe2\x82\xac\xff"]

DAEMON = """
import os, pathlib, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        pathlib.Path(sys.argv[1]).write_text(str(os.getpid()))
        time.sleep(1000)
    os._exit(0)
os.wait()
time.sleep(1000)
"""


def keep(*command: str, **options: Any) -> subprocess.Popen[bytes]:
    """A command under a keeper, with PATH and other variables."""
    keeper = [sys.executable, "-I", "-S", str(KEEPER), *command]
    with tempfile.TemporaryFile() as variables:
        variables.write(b"\0".join(VARIABLES))
        variables.seek(0)
        return subprocess.Popen(keeper, stdin=variables, **options)


@contextlib.contextmanager
def blocked(*numbers: signal.Signals) -> Iterator[None]:
    """What is started meanwhile inherits that these signals wait."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, numbers)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def test_the_command_finds_all_as_if_the_keeper_were_not_there() -> None:
    """No input, no ignored signal, and its environment in the order in which it was written.

    Its size and its content move counts; Python ignores some signals.
    """
    script = "cat; cat /proc/$$/environ; grep SigIgn /proc/self/status"
    said, _ = keep("/bin/sh", "-c", script, stdout=subprocess.PIPE).communicate()
    *variables, last = said.split(b"\0")
    name, _, ignored = last.decode().partition("\t")

    assert VARIABLES == variables
    # Those from 32 on are the C library's, which nobody can set.
    assert ("SigIgn:", 0) == (name, int(ignored, 16) & 0x7FFFFFFF)


def test_no_signal_is_blocked_in_the_command() -> None:
    """Whatever whoever started the keeper has blocked. A shell would unblock them itself."""
    with blocked(signal.SIGTERM, signal.SIGUSR1):
        kept = keep("grep", "SigBlk", "/proc/self/status", stdout=subprocess.PIPE)

    assert [b"SigBlk:", b"0" * 16] == kept.communicate()[0].split()


def test_ending_the_keeper_ends_all_of_it(tmp_path: Path) -> None:
    """Also what forked twice, and left its session, and belongs to nobody but the keeper.

    Whoever started it may have blocked the signal.
    """
    file = tmp_path / "pid"
    with blocked(signal.SIGTERM):
        keeper = keep(sys.executable, "-c", DAEMON, str(file))
    comes_true(lambda: file.exists() and file.read_text())
    keeper.terminate()
    keeper.wait()

    assert not Path(f"/proc/{file.read_text()}").exists()


def test_the_command_ends_when_its_keeper_is_killed(tmp_path: Path) -> None:
    """There is nobody left to end it."""
    file = tmp_path / "pid"
    keeper = keep("/bin/sh", "-c", f"echo $$ > {file}; sleep 1000")
    comes_true(lambda: file.exists() and file.read_text())
    keeper.kill()
    keeper.wait()

    assert ends_soon(int(file.read_text()))
