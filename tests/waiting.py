"""Which processes there are, and waiting for what they do."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path


def is_running(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    return _state_of(pid) not in {"", "Z"}


def is_stopped(pid: int) -> bool:
    """Whether a process stands still until a signal lets it go on."""
    return _state_of(pid) == "T"


def _state_of(pid: int) -> str:
    """A letter; empty where there is no such process."""
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return ""
    return status.rpartition(")")[2].split()[0]


def comes_true(condition: Callable[[], object], within_s: float = 300) -> bool:
    """Whether something is so after a while."""
    deadline = time.monotonic() + within_s
    while not (found := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    return bool(found)


def ends_soon(pid: int) -> bool:
    """Whether a process that was killed is gone after a while."""
    return comes_true(lambda: not is_running(pid))


def below(pid: int) -> list[int]:
    """The processes that descend from one."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        mine = children.get(waiting.pop(), [])
        found += mine
        waiting += mine
    return found
