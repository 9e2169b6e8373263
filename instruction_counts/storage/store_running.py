"""Whether a run still goes on: its process holds a lock, which goes when the process does."""

from __future__ import annotations

import contextlib
import fcntl
import secrets
from pathlib import Path
from typing import IO


class RunningRuns:
    """The runs of a database that are going on, each with a locked file beside the database.

    On a server there is none: its runs may go on at any other machine. Nor where files cannot be
    locked; then nothing is known, and nobody is kept from measuring.
    """

    def __init__(self, database: Path | None) -> None:
        self._database = None if database is None else database.absolute()
        self._held: dict[int, IO[bytes]] = {}

    def begin(self, run_id: int) -> None:
        """This process works at the run from now on."""
        if self._database is None:
            return
        path = self._path(self._database, run_id)
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
        with contextlib.suppress(OSError), contextlib.ExitStack() as undo:
            stream = undo.enter_context(temporary.open("xb"))
            undo.callback(temporary.unlink, missing_ok=True)
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
            # It never lies there unlocked: somebody could look at it just then.
            temporary.replace(path)
            undo.pop_all()
            self._held[run_id] = stream

    def finish(self, run_id: int) -> None:
        """The run is at its end, or deleted."""
        if self._database is not None:
            # While it is locked, for the same reason.
            with contextlib.suppress(OSError):
                self._path(self._database, run_id).unlink(missing_ok=True)
        if run_id in self._held:
            self._held.pop(run_id).close()

    def is_abandoned(self, run_id: int) -> bool:
        """Whether it is certain that nobody works at a run any more that was begun."""
        if self._database is None:
            return False
        try:
            with self._path(self._database, run_id).open("rb") as stream:
                fcntl.flock(stream, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError:  # it is locked, or of a program that did not lock
            return False
        return True

    def close(self) -> None:
        """Let go of all, also of those that did not come to their end."""
        for stream in self._held.values():
            stream.close()
        self._held.clear()

    @staticmethod
    def _path(database: Path, run_id: int) -> Path:
        return database.with_name(f"{database.name}.run-{run_id}.lock")
