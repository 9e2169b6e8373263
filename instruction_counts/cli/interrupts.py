"""Signals that ask the program to end."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Iterator

# `timeout` sends its signal to the process and to its group: that is one request. Whoever presses
# Ctrl-C again after that wants an end at once.
_SAME_REQUEST_S = 1.0


@contextlib.contextmanager
def interrupts(*, final: bool) -> Iterator[None]:
    """SIGTERM, SIGHUP and Ctrl-C raise KeyboardInterrupt, unless they are ignored.

    ``final``: the program ends after this; a signal that comes late changes nothing then, its exit
    code least of all.
    """
    last_s = -_SAME_REQUEST_S

    def handle(number: int, frame: object) -> None:
        nonlocal last_s
        del number, frame
        now_s = time.monotonic()
        if now_s - last_s >= _SAME_REQUEST_S:
            last_s = now_s
            raise KeyboardInterrupt

    before = {
        number: signal.getsignal(number)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # as nohup has it
    }
    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if final else handler)
