"""The kernels of a case, of what torch's profiler saw on a GPU."""

from types import SimpleNamespace
from typing import Any

from worker.launches import kernels


def event(name: str, device: str = "GPU", **more: Any) -> SimpleNamespace:
    """Something that a profiler saw."""
    return SimpleNamespace(name=name, device_type=device, **more)


def test_kernels_are_counted_by_name() -> None:
    """What ran on the CPU, copies, fills and the ranges of an optimizer are none."""
    seen = [
        event("aten::add", "CPU"),
        event("cudaLaunchKernel", "CPU"),
        event("void add<4>(int)"),
        event("void add<4>(int)"),
        event("reduce(float*)", is_user_annotation=False),
        event("Memcpy HtoD (Pageable -> Device)"),
        event("Memset (Device)"),
        event("Optimizer.step#SGD.step", is_user_annotation=True),
    ]

    assert {"void add<4>(int)": 2, "reduce(float*)": 1} == kernels(seen, "GPU")
