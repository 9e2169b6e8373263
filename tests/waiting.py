"""Waiting for what other processes do."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def comes_true(condition: Callable[[], object], within_s: float = 300) -> bool:
    """Whether something is so after a while."""
    deadline = time.monotonic() + within_s
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(found)


def ends_soon(pid: int) -> bool:
    """Whether a process that was killed is gone after a while."""
    return comes_true(lambda: not is_running(pid))
