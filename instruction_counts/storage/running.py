"""Which stored runs are going on, by files that are locked beside the database."""

from __future__ import annotations

import contextlib
from pathlib import Path

from filelock import FileLock, Timeout


class RunningRuns:
    """The runs that are going on: a process holds the lock of each, which goes when it does.

    The locked files lie beside the database. A server has none, as its runs may go on at any other
    machine. Where files cannot be locked nothing is known, and nobody is kept from measuring.
    """

    def __init__(self, database: Path | None) -> None:
        self._database = database and database.absolute()
        self._held: dict[int, FileLock] = {}

    def begin(self, run_id: int) -> None:
        """This process works at the run from now on."""
        if lock := self._lock(run_id):
            self._held[run_id] = lock

    def finish(self, run_id: int) -> None:
        """The run is at its end, or deleted."""
        if lock := self._held.pop(run_id, None) or self._lock(run_id):
            with contextlib.suppress(OSError):
                Path(lock.lock_file).unlink(missing_ok=True)
            lock.release()

    def is_abandoned(self, run_id: int) -> bool:
        """Whether nobody works at a run (any more)."""
        if not (lock := self._lock(run_id)):
            return False
        lock.release()
        return True

    def close(self) -> None:
        """Let go of all, also of those that did not come to their end."""
        for lock in self._held.values():
            lock.release()
        self._held.clear()

    def _lock(self, run_id: int) -> FileLock | None:
        """The lock of a run, which is then held; None where somebody else holds it."""
        if self._database is None:
            return None
        path = self._database.with_name(f"{self._database.name}.run-{run_id}.lock")
        lock = FileLock(path, blocking=False, thread_local=False)
        with contextlib.suppress(Timeout, OSError):
            lock.acquire()
            return lock
        return None
