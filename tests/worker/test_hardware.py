"""What the processor counts of a case, by a fake of the system calls: many machines have none."""

import errno
import os
import struct
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from worker.hardware import Kernel, hardware

WORK = [0]
"""So many instructions were executed, if the statement is to be believed."""
ENABLE, DISABLE = 0x2400, 0x2401
SETUP = f"import sys; work = sys.modules[{__name__!r}].WORK"


class FakeKernel(Kernel):
    """Counts what the statement says it executes, and 1,000 for whatever surrounds a window.

    A cycle is two instructions. ``shared_ns`` is how long something else had the counters.
    """

    def __init__(self, shared_ns: int = 0) -> None:
        self._shared_ns = shared_ns
        self._begun: dict[int, int] = {}
        self._counted: dict[int, int] = {}

    def open(self, event: int) -> int:
        """A file whose number is that of the event."""
        return event

    def control(self, file: int, request: int) -> None:
        """Note where a window begins and ends."""
        if request == ENABLE:
            self._begun[file] = WORK[0]
        elif request == DISABLE:
            self._counted[file] = 1000 + WORK[0] - self._begun[file]

    def read(self, file: int) -> bytes:
        """The instructions of the window (event 1), or its cycles (event 0)."""
        number = self._counted[file] // (1 if file else 2)
        return struct.pack("<QQQ", number, 500 + self._shared_ns, 500)


def counted(kernel: Kernel, stmt: str = "work[0] += 60") -> Any:
    """The answer for a Python statement."""
    threads = torch.get_num_threads()
    case = {"stmt": stmt, "setup": SETUP, "num_threads": threads, "language": "Python"}
    shim: Any = SimpleNamespace(idle_hooks=(lambda: None, lambda: None))
    return hardware({"case": case}, shim, kernel)


class Refusing(Kernel):
    """It lets nobody count."""

    def open(self, event: int) -> int:  # noqa: ARG002 - as the kernel has it
        """Fail."""
        raise OSError(errno.EACCES, os.strerror(errno.EACCES))


@pytest.mark.parametrize(
    ("kernel", "expected"),
    [
        (FakeKernel(), {"metrics": {"native_instructions": 60, "native_cycles": 30}}),
        (Refusing(), {"refused": "Permission denied"}),
        # They counted a part of the time.
        (FakeKernel(shared_ns=1), {"refused": "something else uses them"}),
    ],
    ids=["counts", "refuses", "shares"],
)
def test_an_iteration_costs_what_windows_differ_by(
    kernel: Kernel, expected: dict[str, Any]
) -> None:
    """What surrounds a window is no part of it; counters that say nothing are said to."""
    assert expected == counted(kernel)


def test_a_counter_of_this_machine_counts_or_is_refused_with_the_reason() -> None:
    """The real system call: it is known to the kernel, whatever that says."""
    found = counted(Kernel(), "sum(range(1000))")

    if "refused" in found:
        assert found["refused"] not in {"", os.strerror(errno.EINVAL), os.strerror(errno.ENOSYS)}
    else:
        assert found["metrics"]["native_instructions"] > 1000
