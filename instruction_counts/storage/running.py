"""Whether a run still goes on: its process holds a lock, which goes when the process does."""

from __future__ import annotations

import contextlib
from pathlib import Path

from filelock import FileLock, Timeout


class RunningRuns:
    """The runs of a database that are going on, each with a locked file beside the database.

    On a server there is none: its runs may go on at any other machine. Nor where files cannot be
    locked; then nothing is known, and nobody is kept from measuring.
    """

    def __init__(self, database: Path | None) -> None:
        self._database = None if database is None else database.absolute()
        self._held: dict[int, FileLock] = {}

    def begin(self, run_id: int) -> None:
        """This process works at the run from now on."""
        if (lock := self._lock(run_id)) is not None and self._is_taken(lock):
            self._held[run_id] = lock

    def finish(self, run_id: int) -> None:
        """The run is at its end, or deleted."""
        if (lock := self._held.pop(run_id, None) or self._lock(run_id)) is not None:
            with contextlib.suppress(OSError):
                Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()

    def is_abandoned(self, run_id: int) -> bool:
        """Whether nobody works at a run (any more)."""
        lock = self._lock(run_id)
        if lock is None or run_id in self._held or not self._is_taken(lock):
            return False
        lock.release()
        return True

    def close(self) -> None:
        """Let go of all, also of those that did not come to their end."""
        for lock in self._held.values():
            lock.release()
        self._held.clear()

    @staticmethod
    def _is_taken(lock: FileLock) -> bool:
        with contextlib.suppress(Timeout, OSError):
            lock.acquire(timeout=0)
        return lock.is_locked

    def _lock(self, run_id: int) -> FileLock | None:
        if self._database is None:
            return None
        path = self._database.with_name(f"{self._database.name}.run-{run_id}.lock")
        return FileLock(path, thread_local=False)
