"""Cases on CUDA, mostly without a device: what of them can be measured, and what says why not."""

import attrs

from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.labels import CUDA
from instruction_counts.core.runtimes import runtime_of
from instruction_counts.core.types import Case
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.registry import engine_named, engines

NO_CUDA_TIMES = (
    "Cases on cuda have counts alone: there is no GPU here that this torch can use, and with "
    "stand-ins for CUDA's libraries, which launch nothing, no time means anything."
)


def is_on_cuda(case: Case) -> bool:
    """Whether a case has its tensors on a device of CUDA."""
    return case.timer_args.device == CUDA


def cuda_refusal(facts: BuildFacts, order: WorkOrder, engine: str) -> str:
    """Why a case on CUDA cannot be measured; empty where it can."""
    runtime = order.case.autolabels.runtime
    if facts.cuda is None:
        return f'the torch of build "{facts.build.name}" has no CUDA: name another with --build'
    if not (order.counts or (order.times and has_gpu(facts))):
        return "a case on cuda has counts alone, and none are asked for"
    if runtime_of(runtime).has_own_servers:
        return f'the runtime "{runtime.option}" is not measured on cuda'
    if order.counts and not engine_named(engine).has_stand_ins:
        able = " or ".join(entry.name for entry in engines() if entry.has_stand_ins)
        return f"only the {able} engine counts cases on cuda"
    return ""


def has_gpu(facts: BuildFacts) -> bool:
    """Whether a build runs its cases on a device, beside counting what they ask of one."""
    return bool(facts.fingerprint.gpu)


def on_cuda(facts: BuildFacts, order: WorkOrder) -> WorkOrder:
    """What of an order means something: times where there is a device, and no results."""
    times = order.times and has_gpu(facts)
    return attrs.evolve(order, times=times, output=False, resources=False)
