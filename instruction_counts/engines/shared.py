"""What several lanes share: values that are made once, and orders that are handed out once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Any

from instruction_counts.domain.work import WorkOrder


class Once:
    """Makes a value for each key once, whichever lane asks first; the others wait for it."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._locks: dict[Any, threading.Lock] = {}
        self._values: dict[Any, Any] = {}
        self._lock = threading.Lock()

    def get(self, key: Any, *args: Any) -> Any:
        """The value of ``key``, made by ``make(key, *args)``."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._values:
                self._values[key] = self._make(key, *args)
            return self._values[key]


class Waiting:
    """Orders in their sequence; each is handed out once, whoever asks first."""

    def __init__(self, orders: Iterable[WorkOrder] = ()) -> None:
        self._orders = dict.fromkeys(orders)
        self._lock = threading.Lock()

    def drop(self, order: WorkOrder) -> None:
        """Forget an order that is being timed; also where it does not wait (any more)."""
        with self._lock:
            self._orders.pop(order, None)

    def take(self, cores: int) -> WorkOrder | None:
        """The next order that runs on so many cores; None where no such order waits."""
        with self._lock:
            order = next((order for order in self._orders if order.cores == cores), None)
            if order is not None:
                del self._orders[order]
            return order
