"""Files of runs, in the format that their name asks for; written while a run grows."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from instruction_counts.domain.records import Run
from instruction_counts.report.registry import Destination


class Exporter:
    """Writes a growing run to a file, whole and atomically, in the format that its name asks for.

    ``option`` is what the user wrote before the name, for messages.

    Raises:
        UsageError: the name has no known suffix, or its folder does not exist.
    """

    def __init__(
        self,
        path: Path,
        clock: Callable[[], float] = time.monotonic,
        option: str = "--output",
    ) -> None:
        self._destination = Destination.of(path, Run, option)
        self._clock = clock
        self._next = clock()

    def update(self, run: Run, *, final: bool = False) -> None:
        """Write ``run``, which holds what it held before and perhaps more.

        A large file is not rewritten for each case: writing takes 5% of the time at most, and the
        last state is always written.
        """
        begin = self._clock()
        if final or begin >= self._next:
            self._destination.write(run)
            end = self._clock()
            self._next = end + 20 * (end - begin)
