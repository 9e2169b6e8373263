"""What one core of this machine can do."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any, Callable

from .installed import Message, import_torch

_KIB, _MIB = 1 << 10, 1 << 20
_REPEATS = 5
_MATRIX_SIZE = 1024


def capability(request: Message) -> Message:
    """Copied bytes and operations of a matrix product in a second: on one core, with one thread.

    A copy reads and writes; a product of float32 matrices multiplies and adds.
    """
    os.sched_setaffinity(0, [request["core"]])
    torch = import_torch()
    torch.set_num_threads(1)
    half = copied_bytes(last_level_cache_bytes(Path("/sys/devices/system/cpu")), available_bytes())
    source, target = (torch.ones(half, dtype=torch.uint8) for _ in range(2))
    a, b, c = (torch.ones(_MATRIX_SIZE, _MATRIX_SIZE) for _ in range(3))
    return {
        "copy_bytes_per_s": int(2 * half / _best_s(lambda: target.copy_(source))),
        "matmul_flops_per_s": int(2 * _MATRIX_SIZE**3 / _best_s(lambda: torch.mm(a, b, out=c))),
    }


def _best_s(function: Callable[[], Any]) -> float:
    """The shortest time of several runs, after one to warm up."""
    times_s = []
    for _ in range(1 + _REPEATS):
        begin = time.perf_counter()
        function()
        times_s.append(time.perf_counter() - begin)
    return min(times_s[1:])


def copied_bytes(cache_bytes: int, free_bytes: int) -> int:
    """How much to copy: with its target four times the cache, unless memory is short."""
    return max(64 * _MIB, min(2 * cache_bytes, free_bytes // 8))


def last_level_cache_bytes(folder: Path) -> int:
    """The largest cache that the system tells of; 64 MiB where it tells of none."""
    sizes = [path.read_text().strip() for path in folder.glob("cpu*/cache/index*/size")]
    return max((int(size[:-1]) * _KIB for size in sizes if size.endswith("K")), default=64 * _MIB)


def available_bytes() -> int:
    """Memory that can be had without swapping."""
    for line in Path("/proc/meminfo").read_text(encoding="utf-8").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * _KIB
    return 1024 * _MIB
