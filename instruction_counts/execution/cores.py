"""Cores, reserved in contiguous runs so that the threads of a case lie next to each other.

All processes of a user share them: there is a lock for each core, and one queue. Every lock is the
system's, so that a process that is gone holds nothing, however it ended.
"""

import contextlib
import itertools
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from instruction_counts.domain.errors import UsageError

_LOOK_UP_S = 0.02
_PATIENCE_S = 2.0
"""For so long nobody is told: the lanes of two runs change places with every case."""

_COMMAND_CHARACTERS = 60
_serial = itertools.count(1)


def available_cores() -> tuple[int, ...]:
    """The cores that this process may run on."""
    return tuple(sorted(os.sched_getaffinity(0)))


def parse_cores(text: str, available: tuple[int, ...]) -> tuple[int, ...]:
    """Cores from ``0-3,6``.

    Raises:
        UsageError: the text has another form, or names a core that is not available.
    """
    cores: set[int] = set()
    for part in text.split(","):
        first, separator, last = part.strip().partition("-")
        if not first.isdecimal() or (separator and not last.isdecimal()):
            raise UsageError(f'--cores "{text}" is not a list of cores', "For example: 0-3,6")
        # One past the last core there is, so that a huge number is refused and not spelled out.
        end = min(int(last or first), max(int(first), *available) + 1)
        cores.update(range(int(first), end + 1))
    missing = sorted(cores - set(available))
    if missing or not cores:
        shown = ", ".join(map(str, missing)) or "none"
        have = ", ".join(map(str, available))
        raise UsageError(f"--cores {text}: not available here: {shown}", f"Available: {have}")
    return tuple(sorted(cores))


class CorePool:
    """Lends contiguous cores, each to one lane of all processes whose locks are in ``folder``.

    First come, first served, so that nobody starves. ``notice`` learns once, in a line, that
    another process is waited for.
    """

    def __init__(
        self,
        cores: tuple[int, ...],
        folder: Path,
        notice: Callable[[str], None] = lambda _: None,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self.cores = tuple(sorted(cores))
        self._folder = folder
        self._notice, self._patience_s = notice, patience_s
        self._said = threading.Event()

    @property
    def widest(self) -> int:
        """The largest number of contiguous cores that a case can ever get."""
        return max(len(run) for run in _runs(self.cores))

    @contextlib.contextmanager
    def reserve(
        self, count: int, is_cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[tuple[int, ...]]:
        """Wait for ``count`` contiguous cores, and hold them; none once ``is_cancelled``."""
        assert count <= self.widest, "refused before anything started"
        with contextlib.ExitStack() as held:
            taken: tuple[int, ...] = ()
            with self._queue() as is_first:
                begin = time.monotonic()
                while not (is_cancelled() or (is_first() and (taken := self._take(count, held)))):
                    self._remark(time.monotonic() - begin)
                    time.sleep(_LOOK_UP_S)
            yield taken

    @contextlib.contextmanager
    def _queue(self) -> Iterator[Callable[[], bool]]:
        """Stand in the queue; whether nobody who came earlier waits for one of these cores."""
        self._folder.mkdir(mode=0o700, exist_ok=True)  # what is old in /tmp is removed at times
        # Names sort by arrival: the clock is that of the machine, for all of its processes.
        arrival = f"{time.monotonic_ns():020d}-{os.getpid()}-{next(_serial)}"
        wanted = sum(1 << core for core in self.cores)
        path = self._folder / f"ticket-{arrival}-{wanted:x}"

        def is_first() -> bool:
            return not any(
                other < path and int(other.name.rpartition("-")[2], 16) & wanted and _is_held(other)
                for other in self._folder.glob("ticket-*")
            )

        # Under its name it is locked from the first: what is not was left behind.
        unnamed = path.with_name(f".{path.name}")
        with FileLock(unnamed, blocking=False):
            unnamed.rename(path)
            try:
                yield is_first
            finally:
                path.unlink(missing_ok=True)

    def _take(self, count: int, held: contextlib.ExitStack) -> tuple[int, ...]:
        """Cores that are free now, locked until ``held`` ends; none if they do not suffice."""
        free: dict[int, FileLock] = {}
        for core in self.cores:
            lock = FileLock(self._folder / f"core-{core}", blocking=False)
            with contextlib.suppress(Timeout):
                lock.acquire()
                free[core] = lock
        runs = [run for run in _runs([*free]) if len(run) >= count]
        # The shortest run that fits keeps the longer ones whole.
        taken = min(runs, key=len)[:count] if runs else ()
        for core, lock in free.items():
            if core in taken:
                held.callback(lock.release)
                held.callback(self._word(core).unlink, missing_ok=True)
                with contextlib.suppress(OSError):  # a full disk: it is only a remark
                    word = f"{os.getpid()}\n{_command()}"
                    # An argument may be any bytes.
                    self._word(core).write_text(word, encoding="utf-8", errors="replace")
            else:
                lock.release()
        return taken

    def _remark(self, waited_s: float) -> None:
        """Say once which other process holds one of the cores, none of which is free."""
        if waited_s < self._patience_s or self._said.is_set():
            return
        for core in self.cores:
            with contextlib.suppress(OSError, ValueError):
                pid, command = self._word(core).read_text(encoding="utf-8").split("\n", 1)
                if int(pid) != os.getpid():
                    self._said.set()
                    self._notice(f'waiting for a core: held by process {pid}, "{command}"')
                    return

    def _word(self, core: int) -> Path:
        """Where who holds a core leaves word for those who wait."""
        return self._folder / f"holder-{core}"


def _is_held(ticket: Path) -> bool:
    """Whether somebody stands in the queue with a ticket; else it is removed."""
    try:
        with FileLock(ticket, blocking=False):
            ticket.unlink(missing_ok=True)
    except Timeout:
        return True
    return False


def _command() -> str:
    """The arguments of this process, shortened; the name of a program that has none."""
    command = " ".join(sys.argv[1:]) or Path(sys.argv[0]).name
    is_long = len(command) > _COMMAND_CHARACTERS
    return f"{command[: _COMMAND_CHARACTERS - 1]}…" if is_long else command


def _runs(cores: Sequence[int]) -> list[tuple[int, ...]]:
    runs: list[tuple[int, ...]] = []
    for core in cores:
        if runs and runs[-1][-1] == core - 1:
            runs[-1] = (*runs[-1], core)
        else:
            runs.append((core,))
    return runs
