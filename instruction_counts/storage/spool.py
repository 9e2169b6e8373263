"""Details of outcomes that a server stores, kept here too while this process lives.

A server can go away in the middle of a run; what was measured is then still needed for its files.
"""

from __future__ import annotations

import errno
import os
import tempfile
import threading
from typing import IO

from instruction_counts.domain.outcomes import Details
from instruction_counts.domain.records import Identity
from instruction_counts.storage.documents import packed, unpacked


class Spool:
    """Details by the run and the identity of their record, in a temporary file without a name.

    The file is gone when the process is, however it ends. For several threads at once.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._places: dict[tuple[int, Identity], tuple[int, int]] = {}
        self._lock = threading.Lock()

    def put(self, run_id: int, identity: Identity, details: Details) -> None:
        """Keep the details of an outcome; they replace earlier ones.

        Raises:
            OSError: there is no room for them.
        """
        data = packed(details)
        with self._lock:
            if self._file is None:
                # Without a buffer, in which what did not fit would stay for the next write.
                self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - see `close`
            place = self._file.seek(0, os.SEEK_END)
            if self._file.write(data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            self._places[run_id, identity] = place, len(data)

    def get(self, run_id: int, identity: Identity) -> Details | None:
        """The details of an outcome; None where they were not put here.

        Raises:
            OSError: they cannot be read.
        """
        with self._lock:
            found = self._places.get((run_id, identity))
            if found is None or self._file is None:
                return None
            place, size = found
            data = os.pread(self._file.fileno(), size, place)
        return unpacked(data, Details)

    def close(self) -> None:
        """Forget everything."""
        with self._lock:
            self._places.clear()
            if self._file is not None:
                self._file.close()
                self._file = None
