"""Starts a command and outlives it for a moment: nothing that the command started stays behind.

A measured statement may fork, and the fork may leave its session and its parent. Such a process
belongs to nobody, and nobody's signals reach it. The keeper makes itself the parent of all orphans
below it (``PR_SET_CHILD_SUBREAPER``, Linux 3.4). When its command ends, it kills them, and ends as
the command did. SIGTERM ends both.

It imports the standard library alone and runs on Python 3.9 and later. No counted process sees it:
the command gets the environment that is read from the standard input, entry by entry, and the
descriptors that this process got; no signal is blocked.

    python keeper.py COMMAND [ARGUMENT ...]   < NAME=VALUE entries, with a NUL between two
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import sys
from typing import Any, Iterator, NoReturn

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_SET_CHILD_SUBREAPER = 1, 4, 36


def main() -> NoReturn:
    """Run the command that the arguments are."""
    libc = ctypes.CDLL(None)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    environment = _environment()
    # A signal that came before there is a child to end would end this process alone.
    signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
    try:
        child = os.fork()
    except OSError as error:
        _give_up(error)
    if child == 0:
        os.setsid()
        libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        for ignored in (signal.SIGPIPE, signal.SIGXFSZ):  # by Python alone
            signal.signal(ignored, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        _execute(sys.argv[1:], environment)

    def end(number: int, frame: Any) -> None:
        del number, frame
        _kill(child)

    signal.signal(signal.SIGTERM, end)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, [signal.SIGTERM])
    # Whoever talks to the command is to see it end.
    os.closerange(3, max(map(int, os.listdir("/proc/self/fd"))) + 1)  # noqa: PTH208 - quick start
    status = _status_of(child)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # the number of the child may be used again
    _end_orphans()
    _end_alike(status, libc)


def _environment() -> dict[bytes, bytes]:
    """The environment of the command, in its order; the command itself reads nothing there."""
    with open(0, "rb", closefd=False) as stream:
        entries = stream.read().split(b"\0")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    pairs = (entry.split(b"=", 1) for entry in entries if b"=" in entry)
    return {name: value for name, value in pairs}  # noqa: C416 - as lists, mypy finds no pairs


def _execute(command: list[str], environment: dict[bytes, bytes]) -> NoReturn:
    try:
        os.execvpe(command[0], command, environment)  # noqa: S606 - no shell between
    except OSError as error:
        _give_up(error)


def _give_up(error: OSError) -> NoReturn:
    os.write(2, ("%s does not start: %s\n" % (sys.argv[1], error.strerror)).encode())
    os._exit(127)


def _status_of(child: int) -> int:
    """Wait for the command; orphans that end meanwhile are nobody's zombies."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return status


def _end_orphans() -> None:
    """Kill what is left; what a killed process had started is left next."""
    while True:
        for pid in _children():
            _kill(pid)
        try:
            os.wait()
        except ChildProcessError:
            return


def _children() -> Iterator[int]:
    """The children of this process."""
    for name in os.listdir("/proc"):  # noqa: PTH208 - not every kernel lists children
        if name.isdigit():
            with contextlib.suppress(OSError), open("/proc/%s/stat" % name, "rb") as stream:  # noqa: PTH123
                if int(stream.read().rpartition(b") ")[2].split()[1]) == os.getpid():
                    yield int(name)


def _kill(pid: int) -> None:
    for kill in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            kill(pid, signal.SIGKILL)


def _end_alike(status: int, libc: Any) -> NoReturn:
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number != signal.SIGKILL:
            signal.signal(number, signal.SIG_DFL)
        libc.prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)  # no second core file
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status))


if __name__ == "__main__":
    main()
