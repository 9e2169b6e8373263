"""Estimated cycles of cases, in children of a server whose caches and branches Callgrind simulates.

A miss depends on addresses, and so on the layout of memory: each case is simulated in several, and
what is said of it is their median and their range. Counts of instructions come from another server.
"""

import functools
import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from instruction_counts.core.types import Case
from instruction_counts.domain.metrics import CYCLES, Amounts
from instruction_counts.domain.outcomes import EstimatedCycles, FailureKind, Outcome, Status
from instruction_counts.engines.callgrind import CallgrindProfile, read, read_events
from instruction_counts.engines.counting import FIRST_THREAD, Loop, function_costs, less
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
_WEIGHTS = {"Ir": 1} | {event: weight for weight, events in _TERMS.values() for event in events}


_Windows: TypeAlias = Sequence[Mapping[str, Any]]


@attrs.frozen
class _EmptyLoop:
    events: Mapping[str, float]
    """Per iteration."""
    cycles: Loop


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
            lambda language: self._loop(empty_loop(self._server, compiler, language))
        )

    def of(self, case: Case, run: Child, lookups: Sequence[Any] = ()) -> Outcome:
        """Simulate ``case``: its cycles, where those of the median layout went, and all metrics.

        ``run`` carries out tasks for it; ``lookups`` are as for counts. Where the case fails, as
        when it takes too long here, there is a notice and nothing else: its count stays.

        Raises:
            WorkerError, ServerStartError, CompileError: the empty loop fails, or the server ends.
            CallgrindFormatError, OSError: Callgrind left no usable dump.
        """
        loop: _EmptyLoop = self._loops.get(case.autolabels.language)
        answers: list[Mapping[str, Any]] = []
        try:
            answers.extend(run(WARM.asked(lookups, layout)) for layout in range(LAYOUTS))
            return self._simulated([answer["windows"] for answer in answers], loop)
        except WorkerError as error:
            if error.failure.kind in {FailureKind.EXIT, FailureKind.SIGNAL}:
                raise  # the server ended: with the run, or another try finds a new one
            self._notice(f"{case.title} has no estimated cycles: {error}")
            return Outcome(Status.OK)
        finally:
            for answer in answers:
                remove_dumps(self._server.folder / "dumps", answer["pid"])

    def _simulated(self, layouts: Sequence[_Windows], loop: _EmptyLoop) -> Outcome:
        folder, found = self._server.folder, []
        for windows in layouts:
            events = per_run(windows, folder)
            found.append(amounts_of({name: events[name] - loop.events[name] for name in events}))
        medians = {
            name: round(statistics.median(amounts[name] for amounts in found)) for name in found[0]
        }
        cycles = tuple(round(amounts[CYCLES.name]) for amounts in found)
        middle = sorted(range(LAYOUTS), key=cycles.__getitem__)[LAYOUTS // 2]
        return Outcome(
            Status.OK,
            cycles=EstimatedCycles(self._machine.identity, cycles),
            cycle_costs=function_costs(*_profile(layouts[middle], folder), loop.cycles),
            metrics=Amounts(medians),
        )

    def _loop(self, run: Child) -> _EmptyLoop:
        # Its dumps stay: where a server is held for others, they read them, too.
        windows, folder = run(WARM.asked((), 0))["windows"], self._server.folder
        return _EmptyLoop(per_run(windows, folder), Loop.of(*_profile(windows, folder)))


def per_run(windows: _Windows, folder: Path) -> Mapping[str, float]:
    """How often each event happens in an iteration, from windows dumped below ``folder``.

    What surrounds the loop, and finds other caches than it leaves, costs the same in windows of n
    and of 2n iterations; of either, all are added up.

    Raises:
        CallgrindFormatError: a dump is damaged.
        OSError: a dump is missing.
    """
    shorter, longer, runs = _by_length(windows, folder)
    totals: Counter[str] = Counter()
    for path in longer:
        totals.update(read_events(path))
    for path in shorter:
        totals.subtract(read_events(path))
    return {event: total / runs for event, total in totals.items()}


def _profile(windows: _Windows, folder: Path) -> tuple[CallgrindProfile, int]:
    """The same by function and by call, as the cycles of so many iterations."""
    shorter, longer, runs = _by_length(windows, folder)
    nothing = CallgrindProfile(0, {})
    less_shorter, less_longer = (
        functools.reduce(less, (read(path, _WEIGHTS) for path in paths), nothing)
        for paths in (shorter, longer)
    )
    return less(less_shorter, less_longer), runs


def _by_length(windows: _Windows, folder: Path) -> tuple[list[Path], list[Path], int]:
    """The dumps of shorter and of longer windows, and how many more iterations the latter have."""
    unit = min(window["runs"] for window in windows)
    shorter: list[Path] = []
    longer: list[Path] = []
    for window in windows:
        of_length = longer if window["runs"] > unit else shorter
        of_length.append(folder / (window["dump"] + FIRST_THREAD))
    return shorter, longer, sum(window["runs"] - unit for window in windows)
