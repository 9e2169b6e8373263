"""Makes what only a build of torch can make, and tells what it is. Never loaded while counting."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from .main import Message, PythonLoop, Shim, make_artefact

_RUNS_TO_COMPILE = 3
_RUNS_TO_COMPILE_ALL = 4
"""Enough that nothing further is compiled: a shape that changed is dynamic by then."""


def artefact(request: Message, shim: Shim) -> Message:
    """Make the artefact of a case where the case finds it; it answers with what that imported."""
    del shim
    import torch

    torch.set_num_threads(request["case"]["num_threads"])  # an artefact may hold to it
    before = {*sys.modules}
    make_artefact(request["case"]["artefact_source"], request["case"]["artefact"])
    paths = {getattr(sys.modules[name], "__file__", None) for name in {*sys.modules} - before}
    # In a server they lie below links that end with it.
    return {"imported": sorted(os.path.realpath(path) for path in paths if isinstance(path, str))}


def compiled(request: Message, shim: Shim) -> Message:
    """Run a case, so that the folder of its caches holds what torch compiles for it."""
    import torch

    case = request["case"]
    torch.set_num_threads(case["num_threads"])
    Path(case["caches"]).mkdir()
    PythonLoop(case, shim.idle_hooks).run([_RUNS_TO_COMPILE], shim.idle_hooks)
    return {}


def compilations(request: Message, shim: Shim) -> Message:
    """Guards, graph breaks and compilations after the first of what a case compiles."""
    import torch
    from torch._dynamo import utils

    case = request["case"]
    torch.set_num_threads(case["num_threads"])
    utils.counters.clear()
    utils.clear_compilation_metrics()
    PythonLoop(case, shim.idle_hooks).run([_RUNS_TO_COMPILE_ALL], shim.idle_hooks)
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
