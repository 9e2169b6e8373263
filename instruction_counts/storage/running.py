"""Whether a run still goes on: its process holds a lock, which goes when the process does."""

from __future__ import annotations

import contextlib
from pathlib import Path

from filelock import FileLock, Timeout


class RunningRuns:
    """The runs of a database that are going on, each with a locked file beside the database.

    Where files cannot be locked nothing is known, and nobody is kept from measuring.
    """

    def __init__(self, database: Path) -> None:
        self._database = database.absolute()
        self._held: dict[int, FileLock] = {}

    def begin(self, run_id: int) -> None:
        """This process works at the run from now on."""
        self._held[run_id] = self._lock(run_id)

    def finish(self, run_id: int) -> None:
        """The run is at its end, or deleted."""
        lock = self._held.pop(run_id, None) or self._lock(run_id)
        with contextlib.suppress(OSError):
            Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()

    def is_abandoned(self, run_id: int) -> bool:
        """Whether nobody works at a run (any more)."""
        if run_id in self._held:
            return False
        lock = self._lock(run_id)
        is_free = lock.is_locked
        lock.release()
        return is_free

    def close(self) -> None:
        """Let go of all, also of those that did not come to their end."""
        for lock in self._held.values():
            lock.release()
        self._held.clear()

    def _lock(self, run_id: int) -> FileLock:
        """The lock of a run, which is then held, unless somebody holds it."""
        path = self._database.with_name(f"{self._database.name}.run-{run_id}.lock")
        lock = FileLock(path, blocking=False, thread_local=False)
        with contextlib.suppress(Timeout, OSError):
            lock.acquire()
        return lock
