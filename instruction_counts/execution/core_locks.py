"""Which cores are in use: a lock for each, shared by all processes of this user, and one queue.

Every lock is the system's, so that a process that is gone holds nothing, however it ended.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import attrs
from filelock import FileLock, Timeout

_COMMAND_CHARACTERS = 60
_serial = itertools.count(1)


@attrs.frozen
class Holder:
    """A process that uses a core."""

    pid: int
    command: str
    """Its arguments, shortened."""

    def __str__(self) -> str:
        return f'held by process {self.pid}, "{self.command}"'


class CoreLocks:
    """The locks in ``folder``, of which each is held by one lane of one process at a time."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @contextlib.contextmanager
    def queue(self, cores: Sequence[int]) -> Iterator[Ticket]:
        """Stand in the queue for ``cores``, behind whoever waits for one of them already."""
        self._folder.mkdir(mode=0o700, exist_ok=True)  # what is old in /tmp is removed at times
        # Names sort by arrival: the clock is that of the machine, for all of its processes.
        arrival = f"{time.monotonic_ns():020d}-{os.getpid()}-{next(_serial)}"
        wanted = sum(1 << core for core in cores)
        path = self._folder / f"ticket-{arrival}-{wanted:x}"
        # Under its name it is locked from the first: what is not was left behind.
        unnamed = path.with_name(f".{path.name}")
        with FileLock(unnamed, blocking=False):
            unnamed.rename(path)
            try:
                yield Ticket(path, wanted)
            finally:
                path.unlink(missing_ok=True)

    def attempt(self, core: int) -> FileLock | None:
        """The lock of ``core``, which is then held, unless somebody holds it."""
        lock = FileLock(self._folder / f"core-{core}", blocking=False)
        try:
            lock.acquire()
        except Timeout:
            return None
        return lock

    def sign(self, cores: Sequence[int]) -> None:
        """Leave word for those who wait that this process holds ``cores``."""
        command = " ".join(sys.argv[1:])
        if len(command) > _COMMAND_CHARACTERS:
            command = command[: _COMMAND_CHARACTERS - 1] + "…"
        for core in cores:
            with contextlib.suppress(OSError):  # a full disk: it is only a remark
                self._word(core).write_text(f"{os.getpid()}\n{command}", encoding="utf-8")

    def other_holder(self, cores: Sequence[int]) -> Holder | None:
        """Another process that holds one of ``cores``, none of which is free."""
        for core in cores:
            with contextlib.suppress(OSError, ValueError):
                pid, _, command = self._word(core).read_text(encoding="utf-8").partition("\n")
                if int(pid) != os.getpid():
                    return Holder(int(pid), command)
        return None

    def _word(self, core: int) -> Path:
        return self._folder / f"holder-{core}"


@attrs.frozen
class Ticket:
    """A place in the queue; its file is locked as long as somebody stands there."""

    _path: Path
    _wanted: int

    @property
    def is_first(self) -> bool:
        """Whether nobody who came earlier waits for one of the same cores."""
        for path in sorted(self._path.parent.glob("ticket-*")):
            if path.name >= self._path.name:
                break
            if int(path.name.rpartition("-")[2], 16) & self._wanted and not _removed(path):
                return False
        return True


def _removed(ticket: Path) -> bool:
    """Remove a ticket that nobody holds; whether that is so."""
    try:
        with FileLock(ticket, blocking=False):
            ticket.unlink(missing_ok=True)
    except Timeout:
        return False
    return True
