"""Cases on a device that is not there: what of them can be measured, and what says why not."""

from __future__ import annotations

import attrs

from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.devices import CUDA
from instruction_counts.core.runtimes import runtime_of
from instruction_counts.core.types import Case
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.registry import engine_named, engines

NO_CUDA_TIMES = (
    "Cases on cuda have counts alone: CUDA's libraries are stand-ins, which launch nothing, and no "
    "time with these means anything."
)


def is_on_cuda(case: Case) -> bool:
    """Whether a case has its tensors on a device of CUDA."""
    return case.timer_args.device == CUDA


def cuda_refusal(facts: BuildFacts, order: WorkOrder, engine: str) -> str:
    """Why a case on CUDA cannot be counted; empty where it can."""
    runtime = order.case.autolabels.runtime
    if facts.cuda is None:
        return f'the torch of build "{facts.build.name}" has no CUDA: name another with --build'
    if not order.counts:
        return "a case on cuda has counts alone, and none are asked for"
    if runtime_of(runtime).has_own_servers:
        return f'the runtime "{runtime.option}" is not counted on cuda'
    if not engine_named(engine).has_stand_ins:
        able = " or ".join(entry.name for entry in engines() if entry.has_stand_ins)
        return f"only the {able} engine counts cases on cuda"
    return ""


def without_device(order: WorkOrder) -> WorkOrder:
    """What of an order means something where nothing runs on the device: no times, no results."""
    return attrs.evolve(order, times=False, output=False, resources=False)
