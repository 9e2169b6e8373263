"""What torch.compile makes of a case. Never loaded while counting."""

from __future__ import annotations

from .main import Message, PythonLoop, Shim

_RUNS = 4
"""Enough that nothing further is compiled: a shape that changed is dynamic by then."""


def compilations(request: Message, shim: Shim) -> Message:
    """Guards, graph breaks and compilations after the first of what a case compiles."""
    import torch
    from torch._dynamo import utils

    case = request["case"]
    torch.set_num_threads(case["num_threads"])
    utils.counters.clear()
    utils.clear_compilation_metrics()
    PythonLoop(case, shim.idle_hooks).run([_RUNS], shim.idle_hooks)
    compiled = utils.get_compilation_metrics()
    return {
        "metrics": {
            "guards": sum(one.guard_count or 0 for one in compiled),
            "graph_breaks": sum(utils.counters["graph_break"].values()),
            # The identity of a compilation: the frame, and how often it was compiled before.
            "recompilations": sum(
                not (one.compile_id or "").endswith("/0") for one in compiled if one.compile_id
            ),
        }
    }
