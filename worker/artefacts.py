"""Makes what only a build of torch can make, and tells what it is. Never loaded while counting."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from .main import Message, PythonLoop, Shim, make_artefact

_RUNS_TO_COMPILE = 3
_RUNS_TO_COMPILE_ALL = 4
"""Enough that nothing further is compiled: a shape that changed is dynamic by then."""


def artefact(request: Message, shim: Shim) -> Message:
    """Make the artefact of a case where the case finds it; it answers with the files it read."""
    del shim
    import torch

    torch.set_num_threads(request["case"]["num_threads"])  # an artefact may hold to it
    path, before = request["case"]["artefact"], {*sys.modules}
    paths: set[str] = set()

    def note(event: str, args: tuple[Any, ...]) -> None:
        is_read = event == "open" and not args[2] & os.O_ACCMODE  # that is, O_RDONLY
        if (is_read or event == "ctypes.dlopen") and isinstance(args[0], str):
            paths.add(args[0])

    sys.addaudithook(note)
    make_artefact(request["case"]["artefact_source"], path)
    paths.update(
        file
        for name in {*sys.modules} - before
        for file in [getattr(sys.modules[name], "__file__", None)]
        if isinstance(file, str)
    )
    # Torch's own are known. In a server they lie below links that end with it.
    own = Path(torch.__file__).parent, Path(path).absolute().parent, Path.cwd()
    left_out = ("/proc/", "/sys/", "/dev/", *("%s/" % folder.resolve() for folder in own))
    read = {found for found in map(os.path.realpath, paths) if not found.startswith(left_out)}
    return {"read": sorted(found for found in read if "__pycache__" not in found)}


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
