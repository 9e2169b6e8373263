"""Files of runs, in the format that their name asks for; written while a run grows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import cast, overload

import attrs

from instruction_counts.domain.records import Complete, Record, Run, as_it_is
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

    def update(self, run: Run, *, final: bool = False, complete: Complete = as_it_is) -> None:
        """Write ``run``, which holds what it held before and perhaps more.

        A large file is not rewritten for each case: writing takes 5% of the time at most, and the
        last state is always written. ``complete`` gives a record with its details; it is asked
        only if the format shows them.
        """
        begin = self._clock()
        if final or begin >= self._next:
            needs_details = self._destination.format.needs_details
            self._destination.write(_with_details(run, complete) if needs_details else run)
            end = self._clock()
            self._next = end + 20 * (end - begin)


class _Completed(Sequence[Record]):
    """Records, each with its details while it is looked at: all of them may not fit in memory."""

    def __init__(self, records: Sequence[Record], complete: Complete) -> None:
        self._records, self._complete = records, complete

    def __len__(self) -> int:
        return len(self._records)

    @overload
    def __getitem__(self, place: int) -> Record: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Record]: ...
    def __getitem__(self, place: int | slice) -> Record | Sequence[Record]:
        if isinstance(place, slice):
            return _Completed(self._records[place], self._complete)
        return self._complete(self._records[place])


def _with_details(run: Run, complete: Complete) -> Run:
    if complete is as_it_is:
        return run
    return attrs.evolve(run, cases=cast("tuple[Record, ...]", _Completed(run.cases, complete)))
