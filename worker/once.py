"""What happens only once: the first run of a statement in its process, which nothing warmed up."""

from __future__ import annotations

import ctypes
import gc
import os
from typing import Callable, Tuple

from .main import TORCH, Message, PythonLoop, Shim, _links_not_followed


def once(request: Message, shim: Shim) -> Message:
    """Count the first run of a statement."""
    gc.disable()
    if request["layout"]:
        shim.use_layout(request["layout"])
    loop = _loop(request["case"], shim)
    first_run(loop, shim.count_hooks)
    pid = os.getpid()
    return {
        "runs": 1,
        "dump": "%s.%d.1" % (request["dumps"], pid),
        "allocations": shim.allocations(0),
        "pid": pid,
    }


def once_timed(request: Message, shim: Shim) -> Message:
    """How long the first run of a statement takes."""
    loop = _loop(request["case"], shim)
    gc.disable()
    first_run(loop, shim.clock_hooks)
    return {"times": {"values_s": [float(shim.clock_s())], "runs": 1}}


def first_run(loop: PythonLoop, hooks: Tuple[Callable[[], object], Callable[[], object]]) -> None:
    """Run the statement once, between both hooks.

    What it does first may look for the source of each module, as while the build is imported.
    """
    with _links_not_followed():
        loop.run((ctypes.c_uint64 * 1)(1), hooks)


def _loop(case: Message, shim: Shim) -> PythonLoop:
    if "torch" in case.get("imports", TORCH):
        import torch

        torch.set_num_threads(case["num_threads"])
    return PythonLoop(case, shim.idle_hooks)
