"""Starts a command and outlives it for a moment: nothing that the command started stays behind.

A measured statement may fork, and the fork may leave its session and its parent. Such a process
belongs to nobody, and nobody's signals reach it. This one makes itself the parent of all orphans
below it (``PR_SET_CHILD_SUBREAPER``, Linux 3.4); when its command ends, it kills them, and ends as
the command did. SIGTERM ends both.

It imports the standard library alone and runs on Python 3.9 and later; it runs in no counted
process, and holds none of the descriptors that it passes on.

    python keeper.py COMMAND [ARGUMENT ...]
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from typing import Any, NoReturn

_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def main() -> NoReturn:
    """Run the command that the arguments are."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # A signal that came before there is a child to end would end this process alone.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    child = os.fork()
    if child == 0:
        os.setsid()
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
        _execute(sys.argv[1:])

    def end(number: int, frame: Any) -> None:
        del number, frame
        _kill(child)

    signal.signal(signal.SIGTERM, end)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    # Whoever talks to the command is to see it end.
    os.closerange(3, _highest_descriptor() + 1)
    status = _status_of(child)
    _end_orphans()
    _end_alike(status)


def _execute(command: list[str]) -> NoReturn:
    try:
        # Python may have added to its environment (LC_CTYPE), whose size moves counts.
        os.execvpe(command[0], command, _environment())  # noqa: S606 - no shell between
    except OSError as error:
        os.write(2, ("%s does not start: %s\n" % (command[0], error.strerror)).encode())
    os._exit(127)


def _environment() -> dict[bytes, bytes]:
    """The environment as this process got it, in its order."""
    with open("/proc/self/environ", "rb") as stream:  # noqa: PTH123
        entries = stream.read().split(b"\0")
    return dict(entry.split(b"=", 1) for entry in entries if b"=" in entry)


def _highest_descriptor() -> int:
    return max(map(int, os.listdir("/proc/self/fd")))  # noqa: PTH208 - a quick start


def _status_of(child: int) -> int:
    """Wait for the command; orphans that end meanwhile are nobody's zombies."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return status


def _end_orphans() -> None:
    """Kill what is left; what a killed one had started is left next."""
    while True:
        for pid in children_of(os.getpid()):
            _kill(pid)
        try:
            os.wait()
        except ChildProcessError:
            return


def children_of(pid: int) -> list[int]:
    """The children of a process with one thread; none if it is gone."""
    try:
        with open("/proc/%d/task/%d/children" % (pid, pid), "rb") as stream:  # noqa: PTH123
            return [int(one) for one in stream.read().split()]
    except OSError:
        return []


def _kill(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _end_alike(status: int) -> NoReturn:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        # No second core file.
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main()
