"""Stored runs, whose database is opened only where one is asked for."""

from __future__ import annotations

from typing import Self

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.records import Record, Run
from instruction_counts.storage.store import Store


class LazyStore:
    """The stored runs; their database is opened when the first of them is asked for."""

    def __init__(self, db: str | None) -> None:
        self._db = db
        self._store: Store | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._store is not None:
            self._store.close()

    def find(self, text: str) -> int | None:
        """See `Store.find`; where no option names a database and there is none, there is no run."""
        store = self._existing()
        return None if store is None else store.find(text)

    def similar_tags(self, text: str) -> list[str]:
        """See `Store.similar_tags`."""
        store = self._existing()
        return [] if store is None else store.similar_tags(text)

    def load(self, run_id: int, *, details: bool = True) -> Run:
        """See `Store.load`."""
        return self.opened(must_exist=True).load(run_id, details=details)

    def completed(self, record: Record) -> Record:
        """See `Store.completed`."""
        return (
            record if record.stored_in is None else self.opened(must_exist=True).completed(record)
        )

    def _existing(self) -> Store | None:
        try:
            return self.opened(must_exist=True)
        except UsageError as error:
            if isinstance(error, DataError) or self._db is not None:
                raise
            return None

    def opened(self, *, must_exist: bool = False) -> Store:
        """The store itself; made where there is none, unless it must exist."""
        if self._store is None:
            self._store = Store.open(self._db, must_exist=must_exist)
        return self._store
