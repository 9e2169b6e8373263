"""What a case launches on a real GPU, as torch's profiler sees it: the check of the stand-ins."""

from __future__ import annotations

from collections import Counter
from typing import Any, Iterable

from .main import MeasurementError, Message, describe
from .outputs import code_of

_WARM_UP_RUNS = 4
"""As before the stand-ins are heard."""


def profile(request: Message) -> Message:
    """Kernels by name that one warm iteration of a Python case runs on the device."""
    import torch
    from torch import profiler

    of = profiler.ProfilerActivity
    case = request["case"]
    torch.set_num_threads(case["num_threads"])
    variables = {"torch": torch}
    try:
        for name in ("global_setup", "setup"):
            exec(code_of(case[name], name), variables)
        statement = code_of(case["stmt"], "<stmt>")
        for _ in range(_WARM_UP_RUNS):
            exec(statement, variables)
        torch.cuda.synchronize()
        with profiler.profile(activities=[of.CPU, of.CUDA]) as seen:
            exec(statement, variables)
            torch.cuda.synchronize()
    except Exception as error:
        raise MeasurementError(describe(error, {})) from error
    return {"kernels": kernels(seen.events(), torch.autograd.DeviceType.CUDA)}


def kernels(events: Iterable[Any], device: Any) -> dict[str, int]:
    """How often each kernel ran, of what a profiler saw; copies, fills and ranges are none."""
    ran = (event for event in events if event.device_type == device)
    names = (event.name for event in ran if not getattr(event, "is_user_annotation", False))
    return dict(Counter(name for name in names if not name.startswith(("Memcpy", "Memset"))))
