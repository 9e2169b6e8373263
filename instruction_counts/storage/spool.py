"""Details of outcomes that a server stores, kept here too while this process lives.

A server can go away in the middle of a run; what was measured is then still needed for its files.
"""

from __future__ import annotations

import sqlite3
import threading

from instruction_counts.domain.outcomes import Details
from instruction_counts.domain.records import Identity
from instruction_counts.storage.documents import packed, unpacked
from instruction_counts.storage.tables import digest_of, searchable


class Spool:
    """Details by the run and the identity of their record, in a temporary file without a name.

    The file is gone when the process is, however it ends. For several threads at once. All methods
    raise `sqlite3.Error` where there is no room for it, or it cannot be read.
    """

    def __init__(self) -> None:
        # A private database, in a file as soon as it is large.
        self._database = sqlite3.connect("", check_same_thread=False, isolation_level=None)
        self._database.execute("CREATE TABLE spool (run, build, digest, details)")
        self._database.execute("CREATE UNIQUE INDEX place ON spool (run, build, digest)")
        self._lock = threading.Lock()

    def put(self, run_id: int, identity: Identity, details: Details) -> None:
        """Keep the details of an outcome; they replace earlier ones."""
        values = (*_place(run_id, identity), packed(details))
        with self._lock:
            self._database.execute("REPLACE INTO spool VALUES (?, ?, ?, ?)", values)

    def get(self, run_id: int, identity: Identity) -> Details | None:
        """The details of an outcome; None where they were not put here."""
        query = "SELECT details FROM spool WHERE run = ? AND build = ? AND digest = ?"
        with self._lock:
            found = self._database.execute(query, _place(run_id, identity)).fetchone()
        return None if found is None else unpacked(found[0], Details)

    def close(self) -> None:
        """Forget everything."""
        self._database.close()


def _place(run_id: int, identity: Identity) -> tuple[int, str, str]:
    build, key = identity
    return run_id, searchable(build), digest_of(key)
