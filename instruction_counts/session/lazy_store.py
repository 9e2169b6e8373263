"""Stored runs, whose database is opened only where one is asked for."""

from __future__ import annotations

from typing import Self

from instruction_counts.domain.records import Record, Run
from instruction_counts.storage.store import Store


class LazyStore:
    """The stored runs; their database is opened when the first of them is asked for."""

    def __init__(self, db: str | None, *, must_exist: bool = True) -> None:
        self._db, self._must_exist = db, must_exist
        self._store: Store | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._store is not None:
            self._store.close()

    def find(self, text: str) -> int | None:
        """See `Store.find`."""
        return self.opened().find(text)

    def load(self, run_id: int, *, details: bool = True) -> Run:
        """See `Store.load`."""
        return self.opened().load(run_id, details=details)

    def completed(self, record: Record) -> Record:
        """See `Store.completed`."""
        return record if record.stored_in is None else self.opened().completed(record)

    def opened(self) -> Store:
        """The store itself; made where there is none, unless it must exist."""
        if self._store is None:
            self._store = Store.open(self._db, must_exist=self._must_exist)
        return self._store
