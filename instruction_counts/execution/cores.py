"""Cores, reserved in contiguous runs so that the threads of a case lie next to each other."""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from instruction_counts.domain.errors import UsageError
from instruction_counts.execution.core_locks import CoreLocks
from instruction_counts.system.folders import make_runtime_folder

_LOOK_UP_S = 0.02
_PATIENCE_S = 2.0
"""For so long nobody is told: the lanes of two runs change places with every case."""


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
    """Lends contiguous cores, each to one lane of all processes that use the same ``locks``.

    First come, first served, so that nobody starves. ``notice`` learns once, in a line, that
    another process is waited for.
    """

    def __init__(
        self,
        cores: tuple[int, ...],
        locks: CoreLocks,
        notice: Callable[[str], None] = lambda _: None,
        patience_s: float = _PATIENCE_S,
    ) -> None:
        self._patience_s = patience_s
        self._cores = tuple(sorted(cores))
        self._locks, self._notice = locks, notice
        self._said = threading.Event()

    @property
    def cores(self) -> tuple[int, ...]:
        """All of them."""
        return self._cores

    @property
    def size(self) -> int:
        """How many cores there are in all."""
        return len(self._cores)

    @property
    def widest(self) -> int:
        """The largest number of contiguous cores that a case can ever get."""
        return max(len(run) for run in _runs(self._cores))

    @contextlib.contextmanager
    def reserve(
        self, count: int, is_cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[tuple[int, ...]]:
        """Wait for ``count`` contiguous cores, and hold them; none once ``is_cancelled``."""
        assert count <= self.widest, "refused before anything started"
        with contextlib.ExitStack() as held:
            taken: tuple[int, ...] = ()
            with self._locks.queue(self._cores) as ticket:
                begin = time.monotonic()
                while not (taken or is_cancelled()):
                    if ticket.is_first:
                        taken = self._take(count, held)
                    if not taken:
                        self._remark(time.monotonic() - begin)
                        time.sleep(_LOOK_UP_S)
            yield taken

    def _take(self, count: int, held: contextlib.ExitStack) -> tuple[int, ...]:
        """Cores that are free now, locked until ``held`` ends; none if they do not suffice."""
        locks = {core: self._locks.attempt(core) for core in self._cores}
        free = {core: lock for core, lock in locks.items() if lock is not None}
        taken = _fit([*free], count)
        for core, lock in free.items():
            if core in taken:
                held.callback(lock.release)
            else:
                lock.release()
        self._locks.sign(taken)
        return taken

    def _remark(self, waited_s: float) -> None:
        if waited_s < self._patience_s or self._said.is_set():
            return
        holder = self._locks.other_holder(self._cores)
        if holder is not None:
            self._said.set()
            self._notice(f"waiting for a core: {holder}")


def machine_wide(cores: tuple[int, ...], notice: Callable[[str], None]) -> CorePool:
    """The pool from which all processes of this user are lent ``cores``.

    Raises:
        UsageError: the folder in which they know of each other cannot be made.
    """
    return CorePool(cores, CoreLocks(make_runtime_folder()), notice)


def _fit(free: Sequence[int], count: int) -> tuple[int, ...]:
    runs = [run for run in _runs(free) if len(run) >= count]
    # The shortest run that fits keeps the longer ones whole.
    return min(runs, key=len)[:count] if runs else ()


def _runs(cores: Sequence[int]) -> list[tuple[int, ...]]:
    runs: list[tuple[int, ...]] = []
    for core in cores:
        if runs and runs[-1][-1] == core - 1:
            runs[-1] = (*runs[-1], core)
        else:
            runs.append((core,))
    return runs
