"""Orders whose wall times are still to be taken, while several lanes take from them."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from instruction_counts.domain.work import WorkOrder


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
