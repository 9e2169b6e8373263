"""Cores, reserved in contiguous runs so that the threads of a case lie next to each other."""

from __future__ import annotations

import contextlib
import os
import threading
from collections import deque
from collections.abc import Iterator

from instruction_counts.domain.errors import UsageError


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
    """Lends contiguous cores to lanes; first come, first served, so that nobody starves."""

    def __init__(self, cores: tuple[int, ...]) -> None:
        self._free = set(cores)
        self._cores = tuple(sorted(cores))
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

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
    def reserve(self, count: int) -> Iterator[tuple[int, ...]]:
        """Wait for ``count`` contiguous cores, and hold them."""
        assert count <= self.widest, "refused before anything started"
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
            self._changed.wait_for(lambda: self._waiting[0] is ticket and self._fit(count))
            self._waiting.popleft()
            taken = self._fit(count)
            self._free.difference_update(taken)
            self._changed.notify_all()
        try:
            yield taken
        finally:
            with self._changed:
                self._free.update(taken)
                self._changed.notify_all()

    def _fit(self, count: int) -> tuple[int, ...]:
        runs = [run for run in _runs(tuple(sorted(self._free))) if len(run) >= count]
        # The shortest run that fits keeps the longer ones whole.
        return min(runs, key=len)[:count] if runs else ()


def _runs(cores: tuple[int, ...]) -> list[tuple[int, ...]]:
    runs: list[tuple[int, ...]] = []
    for core in cores:
        if runs and runs[-1][-1] == core - 1:
            runs[-1] = (*runs[-1], core)
        else:
            runs.append((core,))
    return runs
