"""Keeping a run while it grows: what cannot be stored now waits in memory, and is tried again."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import attrs

from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.records import Complete, Identity, Record, Run
from instruction_counts.execution.events import Observer
from instruction_counts.storage.json_files import keep
from instruction_counts.system.program import program_name

if TYPE_CHECKING:  # it takes a fifth of the start of a command, and some store nothing
    from instruction_counts.storage.store import Store

_PAUSE = 20
"""How often as long as it took to learn that nothing can be stored, nothing is tried again."""


@attrs.define
class Recording:
    """A run that is being stored; that it cannot be stored ends no run.

    What the store does not have in the end is kept in a file, which is named.
    """

    run_id: int
    _store: Store
    _observer: Observer
    _clock: Callable[[], float] = time.monotonic
    _keep: Callable[[Run, Complete], Path | None] = keep
    """Writes a run to a file, if there is room for one."""
    _waiting: dict[Identity, Record] = attrs.field(factory=dict, init=False)
    """The records that are not stored yet."""
    _next: float = attrs.field(default=0.0, init=False)
    _is_reported: bool = attrs.field(default=False, init=False)
    is_complete: bool = attrs.field(default=False, init=False)
    """Whether the run has been finished, and all of it is stored."""

    def add(self, record: Record) -> Mapping[Identity, Record]:
        """Store a record, with those that could not be stored before.

        Returns what is stored now, as it can stay in memory.
        """
        self._waiting[record.identity] = record
        stored: dict[Identity, Record] = {}
        begin = self._clock()
        if begin < self._next:
            return stored
        for identity, waiting in list(self._waiting.items()):
            try:
                stored[identity] = self._store.add(self.run_id, waiting)
            except UsageError as error:
                # Next time the others come first, should it be that only this one does not fit.
                self._waiting[identity] = self._waiting.pop(identity)
                now = self._clock()
                self._next = now + _PAUSE * (now - begin)
                if not self._is_reported:
                    self._is_reported = True
                    self._observer.error(
                        "Results cannot be stored now; they stay in memory, and it is tried again "
                        f"with each case: {error}"
                    )
                return stored
            del self._waiting[identity]
        return stored

    def finish(self, run: Run, *, interrupted: bool) -> None:
        """Store the end of the run, and whatever is not stored yet."""
        try:
            self._store.finish(self.run_id, run, interrupted=interrupted)
        except UsageError as error:
            file = self._keep(run, self._store.completed)
            again = "No file could be written either."
            if file is not None:
                typed = ["runs", "import", *self._store.option, str(file)]
                again = (
                    f"All of its results are in {file}. When the database can be written: "
                    f"{program_name()} {shlex.join(typed)}"
                )
            self._observer.error(
                f"Run {self.run_id} is not stored as a whole: {error.message}\n  {again}"
            )
        else:
            self.is_complete = True
