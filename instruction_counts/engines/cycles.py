"""Estimated cycles of cases, in children of a server whose caches and branches Callgrind simulates.

A miss depends on addresses, and so on the layout of memory: each case is simulated in several, and
what is said of it is their median and their range. Counts of instructions come from another server.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from instruction_counts.core.types import Case
from instruction_counts.domain.cycles import EstimatedCycles
from instruction_counts.domain.metrics import CYCLES, Amounts
from instruction_counts.domain.outcomes import FailureKind
from instruction_counts.engines.callgrind import read_events
from instruction_counts.engines.counting import FIRST_THREAD
from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.engine import Notice
from instruction_counts.engines.fork_counts import Child, Once, empty_loop
from instruction_counts.engines.fork_processes import remove_dumps
from instruction_counts.engines.kinds import WARM
from instruction_counts.engines.machine import Machine
from instruction_counts.engines.warm.client import Server
from instruction_counts.system.worker_process import WorkerError

LAYOUTS = 3
"""In how many memory layouts of the server that is there a case is simulated."""

_TERMS: Mapping[str, tuple[int, tuple[str, ...]]] = {
    "l1_instruction_misses": (10, ("I1mr",)),
    "l1_data_misses": (10, ("D1mr", "D1mw")),
    "last_level_misses": (100, ("ILmr", "DLmr", "DLmw")),
    "mispredictions": (10, ("Bcm", "Bim")),
}
"""What each metric adds up, and how many cycles one of it costs in the estimate."""


def amounts_of(events: Mapping[str, float]) -> Amounts:
    """The metrics of a simulation, from Callgrind's events, per iteration; whole numbers.

    Cycles are ``Ir + 10 L1m + 10 Bm + 100 LLm``: the "Cycle Estimation" of KCachegrind
    (``GlobalConfig::knownFormula`` in its ``libcore/globalconfig.cpp``), less the terms of events
    that are not simulated. It knows no parallelism, and takes an instruction for a cycle.
    """
    counted = {name: sum(events[event] for event in terms) for name, (_, terms) in _TERMS.items()}
    cycles = events["Ir"] + sum(weight * counted[name] for name, (weight, _) in _TERMS.items())
    # Less what a loop costs, next to nothing may be less than nothing.
    return Amounts(
        {name: max(0, round(n)) for name, n in (counted | {CYCLES.name: cycles}).items()}
    )


class CaseCycles:
    """What ``server`` simulates of a case, less what the same number of empty loops costs."""

    def __init__(
        self, server: Server, compiler: Compiler, machine: Machine, notice: Notice
    ) -> None:
        self._server, self._machine, self._notice = server, machine, notice
        self._loops = Once(
            lambda language: self._events(empty_loop(server, compiler, language), (), 0)
        )

    def of(
        self, case: Case, run: Child, lookups: Sequence[Any] = ()
    ) -> tuple[EstimatedCycles | None, Amounts]:
        """Simulate ``case``: its cycles, and the median of each metric.

        ``run`` carries out tasks for it; ``lookups`` are as for counts. Where the case fails, as
        when it takes too long here, there is a notice and nothing else: its count stays.

        Raises:
            WorkerError, ServerStartError, CompileError: the empty loop fails, or the server ends.
            CallgrindFormatError, OSError: Callgrind left no usable dump.
        """
        loop: Mapping[str, float] = self._loops.get(case.autolabels.language)
        try:
            found = [self._events(run, lookups, layout) for layout in range(LAYOUTS)]
        except WorkerError as error:
            if error.failure.kind in {FailureKind.EXIT, FailureKind.SIGNAL}:
                raise  # the server ended: with the run, or another try finds a new one
            self._notice(f"{case.title} has no estimated cycles: {error}")
            return None, Amounts({})
        layouts = [
            amounts_of({event: number - loop[event] for event, number in events.items()})
            for events in found
        ]
        medians = {
            name: round(statistics.median(amounts[name] for amounts in layouts))
            for name in layouts[0]
        }
        cycles = tuple(round(amounts[CYCLES.name]) for amounts in layouts)
        return EstimatedCycles(self._machine.identity, cycles), Amounts(medians)

    def _events(self, run: Child, lookups: Sequence[Any], layout: int) -> Mapping[str, float]:
        asked = {"task": WARM.task, "lookups": lookups, "layout": layout, "dumps": "dumps/cg"}
        answer = run({**asked, **WARM.request})
        try:
            return per_run(answer["windows"], self._server.folder)
        finally:
            remove_dumps(self._server.folder / "dumps", answer["pid"])


def per_run(windows: Sequence[Mapping[str, Any]], folder: Path) -> Mapping[str, float]:
    """How often each event happens in an iteration, from windows dumped below ``folder``.

    What surrounds the loop, and finds other caches than it leaves, costs the same in windows of n
    and of 2n iterations; of either, all are added up.

    Raises:
        CallgrindFormatError: a dump is damaged.
        OSError: a dump is missing.
    """
    unit = min(window["runs"] for window in windows)
    totals: dict[str, int] = {}
    for window in windows:
        sign = 1 if window["runs"] > unit else -1
        for event, number in read_events(folder / (window["dump"] + FIRST_THREAD)).items():
            totals[event] = totals.get(event, 0) + sign * number
    runs = sum(window["runs"] - unit for window in windows)
    return {event: total / runs for event, total in totals.items()}
