"""Gets a server ready for cases that torch compiles, before anything is counted.

A parent that imported Dynamo and Inductor and compiled something once leaves a child little to do.
What Inductor makes lies in a folder that belongs to the case: a child that counts finds it there,
made natively, and starts no compiler.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import platform
from pathlib import Path
from typing import Any

from .main import CACHES

_PINNED = {
    # A pool of processes or threads would not outlive a fork.
    "compile_threads": 1,
    "fx_graph_cache": True,
    # They lie outside of the folder of a case.
    "cpp_cache_precompile_headers": False,
    # Otherwise another process tries each instruction set.
    "cpp.vec_isa_ok": True,
    # What is made on any machine runs under Valgrind, which has AVX2.
    **({"cpp.simdlen": 256, "cpp.march": "haswell"} if platform.machine() == "x86_64" else {}),
}
"""Settings of Inductor."""


def prepare(rehearsal: str) -> None:
    """Import what compiles, and compile something; what Inductor makes goes to ``rehearsal``."""
    os.environ[CACHES] = rehearsal
    import torch

    torch.set_num_threads(1)  # a pool of threads would not outlive a fork, either
    # A torch without it, or without a C++ compiler: the cases say so.
    with contextlib.suppress(Exception):
        _pin()
        _rehearse(torch)
    torch.set_grad_enabled(True)
    with contextlib.suppress(Exception):
        torch._dynamo.reset()


def _pin() -> None:
    from torch._inductor import codecache, config

    for name, value in _PINNED.items():
        with contextlib.suppress(AttributeError):  # not every torch has each
            *within, last = name.split(".")
            setattr(getattr(config, *within) if within else config, last, value)
    with contextlib.suppress(ImportError):
        # It would start a thread beside the case.
        importlib.import_module("tqdm").tqdm.monitor_interval = 0
    write, folder = codecache.write, "%s%s" % (Path.cwd(), os.sep)

    def write_anywhere(
        content: Any, extension: str, extra: str = "", *more: Any, **named: Any
    ) -> Any:
        # The key of a kernel holds the command that compiles it, and that paths of this server.
        return write(content, extension, extra.replace(folder, ""), *more, **named)

    codecache.write = write_anywhere


def _rehearse(torch: Any) -> None:
    def chain(x: Any, w: Any) -> Any:
        return torch.relu(x @ w + 1.0).sum(0).softmax(0)

    x, w = torch.ones(4, 4), torch.ones(4, 4, requires_grad=True)
    model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU())
    for function, inputs in ((chain, (x, x)), (chain, (x, w)), (model, (x,))):
        compiled = torch.compile(function)
        for _ in range(2):
            output = compiled(*inputs).sum()
            if output.requires_grad:
                output.backward()
