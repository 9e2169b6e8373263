"""Metrics: what is measured of one iteration beside instructions and times.

A metric is an entry here, or one that is registered from outside. Files, the store, tables and
comparisons know its values by its name alone.
"""

import enum
import math
from collections.abc import Mapping
from typing import TypeAlias

import attrs

from instruction_counts.domain.registry import Registry

Amount: TypeAlias = int | float


class Better(enum.Enum):
    """Which way a metric improves."""

    LESS = "less"
    MORE = "more"
    NEITHER = "neither"


@attrs.frozen
class Metric:
    """What a number says, and how it is treated."""

    name: str
    """In files, and as a column of CSV."""
    title: str
    """For people, in a sentence: ``allocation calls``."""
    unit: str
    """``bytes``, ``calls``; of one iteration."""
    better: Better = Better.LESS
    exact: bool = True
    """Whether the same build gives the same number each time."""
    judged: bool = False
    """Whether a comparison reports that an exact number changed."""
    heading: str = ""
    """Of its column in the results table; the title, if it is empty."""
    has_column: bool = False
    """Whether the results table shows it unasked, where a case has it."""
    task: str = ""
    """The task of the worker that takes it, in a child of its own; empty where the engine does."""

    def text(self, amount: Amount | None) -> str:
        """The amount for people, without its unit; empty where it is not known."""
        return "" if amount is None else f"{amount:,}"

    def change(self, base: Amount, new: Amount) -> str:
        """``better``, ``worse``, or ``changed`` where neither can be said."""
        if self.better is Better.NEITHER:
            return "changed"
        return "better" if (new < base) is (self.better is Better.LESS) else "worse"


class Amounts(dict[str, Amount]):
    """Numbers by the names of their metrics; what is not known is not there. Not to be changed.

    Raises:
        ValueError: one is no number that JSON knows.
    """

    def __init__(self, numbers: Mapping[str, Amount | None] | None = None) -> None:
        for name, number in (numbers or {}).items():
            if number is None:
                continue
            if type(number) not in {int, float} or not math.isfinite(number):
                raise ValueError(f"{name} is {number!r}, which is not a finite number")
            self[name] = number

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


NO_AMOUNTS = Amounts()

ALLOCATIONS = Metric("allocations", "allocation calls", "calls", heading="allocs")
ALLOCATED_BYTES = Metric("allocated_bytes", "allocated bytes", "bytes")
"""Of the allocator that is preloaded while instructions are counted."""
TENSOR_BYTES = Metric("tensor_bytes", "bytes allocated for tensors", "bytes")
PEAK_BYTES = Metric(*("peak_bytes", "bytes of tensors held at once", "bytes"), heading="peak bytes")
FLOPS = Metric(
    *("flops", "floating point operations", "operations"), better=Better.NEITHER, heading="flops"
)
"""Of the operators that torch has a formula for; not known where there is none."""
MOVED_BYTES = Metric("moved_bytes", "bytes of tensors read or made", "bytes")
"""Each tensor once: about the least that memory has to move."""
LEFT_RUNNING = Metric("left_running", "processes left running", "processes", exact=False)
"""All that a case left behind while it was measured; they were ended. Absent if there were none."""

BYTECODES = Metric("bytecodes", "bytecodes", "bytecodes", judged=True)
"""Of Python cases: executed by all Python functions, the statement's own lines included."""
OPERATOR_CALLS = Metric(
    "operator_calls", "operator calls", "calls", judged=True, heading="operators"
)
"""Of all operators that torch dispatches, those that other operators call included."""
GUARDS, GRAPH_BREAKS, RECOMPILATIONS = (
    Metric(name.replace(" ", "_"), name, name, judged=True, task="compilations")
    for name in ("guards", "graph breaks", "recompilations")
)
"""Of compiled cases: of all that their first runs compile."""

OF_CUDA = (
    LAUNCHES := Metric("launches", "launches", "launches", judged=True, has_column=True),
    Metric("library_calls", "calls of CUDA's libraries", "calls", judged=True),
    Metric("copies", "copies and fills by CUDA", "calls", judged=True),
    Metric("cuda_allocations", "allocations by CUDA", "calls", judged=True),
    SYNCHRONISATIONS := Metric(
        *("synchronisations", "synchronisations", "calls"),
        judged=True,
        heading="syncs",
        has_column=True,
    ),
    Metric("cached_blocks", "blocks of the caching allocator", "blocks", judged=True),
)
"""Of cases on CUDA: what the CPU asks for, without what CUDA does for it."""

OF_CYCLES = (
    CYCLES := Metric(
        *("cycles", "estimated cycles", "cycles"),
        exact=False,
        heading="est. cycles",
        has_column=True,
    ),
    Metric("l1_instruction_misses", "first-level misses of instructions", "misses", exact=False),
    Metric("l1_data_misses", "first-level misses of data", "misses", exact=False),
    Metric("last_level_misses", "last-level misses", "misses", exact=False),
    Metric("mispredictions", "mispredicted branches", "branches", exact=False),
)
"""Medians over memory layouts, where they are asked for; see `engines.fork_counts`."""

RESOURCES, HARDWARE = "resources", "hardware"
"""What is asked for to have memory and operations, and to have these."""
OF_HARDWARE = tuple(
    Metric(
        *(f"native_{unit}", f"native {unit}", unit),
        exact=False,
        heading=heading,
        has_column=True,
    )
    for unit, heading in (("instructions", "native instr"), ("cycles", "native cycles"))
)
"""Of native execution, where the kernel lets counters be read."""

_METRICS = Registry(
    "metric",
    *(ALLOCATIONS, ALLOCATED_BYTES, TENSOR_BYTES, PEAK_BYTES, FLOPS, MOVED_BYTES, LEFT_RUNNING),
    *(BYTECODES, OPERATOR_CALLS, GUARDS, GRAPH_BREAKS, RECOMPILATIONS),
    *(*OF_CUDA, *OF_CYCLES, *OF_HARDWARE),
)
register, unregister, metrics = _METRICS.register, _METRICS.unregister, _METRICS.entries
