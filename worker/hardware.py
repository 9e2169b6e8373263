"""What the processor's own counters say of native execution. Never loaded while counting."""

from __future__ import annotations

import ctypes
import fcntl
import gc
import os
import platform
import struct
import time
from typing import Any

from .main import CompiledLoop, Message, PythonLoop, Shim, with_artefact

_EVENTS = {"native_instructions": 1, "native_cycles": 0}
"""``PERF_COUNT_HW_INSTRUCTIONS`` and ``PERF_COUNT_HW_CPU_CYCLES`` of linux/perf_event.h."""
_SYSTEM_CALLS = {"x86_64": 298, "aarch64": 241}
_ENABLE, _DISABLE, _RESET = 0x2400, 0x2401, 0x2403
_DISABLED, _NO_KERNEL, _NO_HYPERVISOR = 1 << 0, 1 << 5, 1 << 6
_TIMES = 1 << 0 | 1 << 1  # how long it was enabled, and how long it counted
_ATTRIBUTES_BYTES = 112

_PAIRS = 5
_PILOTS = 2
"""The first warms up, the second says how many runs the windows have."""
_WINDOW_S = 0.01
_MOST_RUNS = 1000


class Kernel:
    """The system calls; a test has others."""

    def open(self, event: int) -> int:
        """The file of a counter of the calling thread's instructions, outside of the kernel.

        Raises:
            OSError: there is none, or it may not be used.
        """
        flags = _DISABLED | _NO_KERNEL | _NO_HYPERVISOR
        # A struct perf_event_attr, up to its flags; its type is 0, PERF_TYPE_HARDWARE.
        head = struct.pack("<IIQQQQQ", 0, _ATTRIBUTES_BYTES, event, 0, 0, _TIMES, flags)
        attributes = ctypes.create_string_buffer(head, _ATTRIBUTES_BYTES)
        libc = ctypes.CDLL(None, use_errno=True)
        number = _SYSTEM_CALLS.get(platform.machine(), -1)
        file = libc.syscall(number, attributes, 0, -1, -1, 0)
        if file < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        return int(file)

    def control(self, file: int, request: int) -> None:
        """Enable, disable or reset a counter."""
        fcntl.ioctl(file, request, 0)

    def read(self, file: int) -> bytes:
        """A number, and for how long it was to count and did, in ns: 64 bits each."""
        return os.read(file, 24)


class _Counters:
    """Counters that are on in each window."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._files = {name: kernel.open(event) for name, event in _EVENTS.items()}
        self.windows: list[dict[str, int]] = []
        self.is_shared = False
        """Whether something else had the counters meanwhile."""

    def begin(self) -> None:
        for request in (_RESET, _ENABLE):
            for file in self._files.values():
                self._kernel.control(file, request)

    def end(self) -> None:
        for file in self._files.values():
            self._kernel.control(file, _DISABLE)
        found = {}
        for name, file in self._files.items():
            found[name], enabled_ns, counted_ns = struct.unpack("<QQQ", self._kernel.read(file))
            self.is_shared |= enabled_ns != counted_ns
        self.windows.append(found)


def hardware(request: Message, shim: Shim, kernel: Kernel = Kernel()) -> Message:  # noqa: B008
    """Instructions and cycles of an iteration, natively; or why the counters are refused.

    The least of windows of n iterations, and of 2n: their difference is that of n iterations, and
    what surrounds the loop is no part of it.
    """
    import torch

    try:
        counters = _Counters(kernel)
    except OSError as error:
        return {"refused": error.strerror}
    case = with_artefact(request["case"], "")
    torch.set_num_threads(case["num_threads"])
    lengths: Any = (ctypes.c_uint64 * (_PILOTS + 2 * _PAIRS))(3, 1)
    began_s = 0.0

    def begin() -> None:
        nonlocal began_s
        began_s = time.perf_counter()
        counters.begin()

    def end() -> None:
        counters.end()
        if len(counters.windows) == _PILOTS:
            taken_s = time.perf_counter() - began_s
            unit = max(1, min(_MOST_RUNS, int(_WINDOW_S / max(taken_s, 1e-9))))
            lengths[_PILOTS:] = [unit, 2 * unit] * _PAIRS

    gc.disable()
    if case["language"] == "C++":
        hook = ctypes.CFUNCTYPE(None)
        CompiledLoop(case).run(lengths, (hook(begin), hook(end)))
    else:
        PythonLoop(case, shim.idle_hooks).run(lengths, (begin, end))
    if counters.is_shared:
        return {"refused": "something else uses them"}
    of_n, of_2n = counters.windows[_PILOTS::2], counters.windows[_PILOTS + 1 :: 2]
    unit = lengths[_PILOTS]
    return {
        "metrics": {
            name: max(0, round((_least(of_2n, name) - _least(of_n, name)) / unit))
            for name in _EVENTS
        }
    }


def _least(windows: list[dict[str, int]], name: str) -> int:
    return min(window[name] for window in windows)
