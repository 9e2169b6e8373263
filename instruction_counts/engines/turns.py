"""Turns of lanes: most go side by side, some have to be alone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turn:
    """What one lane does, from its begin to its end."""

    def __init__(self) -> None:
        self.was_alone = True
        """Whether no other turn overlapped with it, so far."""


class Turns:
    """Lets turns go side by side, but for those that ask to be alone."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._active: set[Turn] = set()
        self._is_alone = False
        self._waiting_alone = 0

    @contextmanager
    def taken(self, *, alone: bool = False) -> Iterator[Turn]:
        """Wait for a turn and have it; not to be asked for within another one."""
        turn = Turn()
        with self._condition:
            if alone:
                self._waiting_alone += 1
                self._condition.wait_for(lambda: not self._active)
                self._waiting_alone -= 1
            else:
                self._condition.wait_for(lambda: not (self._is_alone or self._waiting_alone))
            self._is_alone = alone
            for other in self._active:
                other.was_alone = turn.was_alone = False
            self._active.add(turn)
        try:
            yield turn
        finally:
            with self._condition:
                self._active.remove(turn)
                self._is_alone = False
                self._condition.notify_all()
