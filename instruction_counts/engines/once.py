"""Values that are made once, whichever lane needs them first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any


class Once:
    """Makes a value for each key once, whichever lane asks first; the others wait for it."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._locks: dict[Any, threading.Lock] = {}
        self._values: dict[Any, Any] = {}
        self._lock = threading.Lock()

    def forget(self, key: Any) -> None:
        """Make the value of ``key`` again when it is asked for next."""
        with self._lock:
            self._values.pop(key, None)

    def get(self, key: Any, *args: Any) -> Any:
        """The value of ``key``, made by ``make(key, *args)``."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._values:
                self._values[key] = self._make(key, *args)
            return self._values[key]
