"""Makes what only a build of torch can make. Never loaded while counting."""

from __future__ import annotations

from pathlib import Path

from .main import Message, PythonLoop, Shim, make_artefact

_RUNS_TO_COMPILE = 3


def artefact(request: Message, shim: Shim) -> Message:
    """Make the artefact of a case where the case finds it."""
    del shim
    import torch

    torch.set_num_threads(request["case"]["num_threads"])  # an artefact may hold to it
    make_artefact(request["case"]["artefact_source"], request["case"]["artefact"])
    return {}


def compiled(request: Message, shim: Shim) -> Message:
    """Run a case, so that the folder of its caches holds what torch compiles for it."""
    import torch

    case = request["case"]
    torch.set_num_threads(case["num_threads"])
    Path(case["caches"]).mkdir()
    PythonLoop(case, shim.idle_hooks).run([_RUNS_TO_COMPILE], shim.idle_hooks)
    return {}
