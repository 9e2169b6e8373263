"""Counts cases in children of the counting server of the fork engine, and estimates their cycles.

Cycles are those of a server whose caches and branches Callgrind simulates. A miss depends on
addresses, and so on the layout of memory: each case is simulated in several, and what is said of it
is their median and their range. Counts of instructions come from another server.
"""

import functools
import hashlib
import re
import shutil
import statistics
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from instruction_counts.core.types import Case, Language
from instruction_counts.domain.metrics import CYCLES, Amounts
from instruction_counts.domain.outcomes import (
    EstimatedCycles,
    Failure,
    FailureKind,
    Outcome,
    Status,
)
from instruction_counts.engines import counting
from instruction_counts.engines.callgrind import CallgrindProfile, read, read_events
from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.cpp.source import CppSource
from instruction_counts.engines.engine import Notice, Profile
from instruction_counts.engines.fork_processes import remove_dumps
from instruction_counts.engines.fork_server import KEPT
from instruction_counts.engines.kinds import WARM, Kind, kind_of
from instruction_counts.engines.machine import Machine
from instruction_counts.engines.warm.client import Server
from instruction_counts.system.worker_process import WorkerError

Child: TypeAlias = Callable[[Mapping[str, Any]], dict[str, Any]]
"""Carries out a task of a case in a forked child."""

_LOOP_TIMEOUT_S = 600.0
_EMPTY_LOOP = {
    Language.PYTHON: "pass",
    # Without this the compiler drops the loop; with it, it is the loop that every case has.
    Language.CPP: 'asm volatile("" ::: "memory");',
}
_REMOVED = "the statement takes no time: the compiler removes it, since nothing uses it"
"""The worker says the same where it is timed."""


class Once:
    """Makes a value for each key once, whichever lane asks first; the others wait."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._values: dict[Any, Any] = {}
        self._lock = threading.Lock()

    def get(self, key: Any, *args: Any) -> Any:
        """The value of ``key``, made by ``make(key, *args)``."""
        with self._lock:
            if key not in self._values:
                self._values[key] = self._make(key, *args)
            return self._values[key]


class CaseCounts:
    """What ``server`` counts in a case, less what the same number of empty loops costs."""

    def __init__(
        self, server: Server, compiler: Compiler, profile: Profile, build_name: str
    ) -> None:
        self._server, self._compiler, self._profile = server, compiler, profile
        self._build_name = build_name
        self._loops = Once(self._measure_loop)

    @property
    def allocator_name(self) -> str:
        """What allocates in the counted process: what was asked for, unless that was refused."""
        return self._profile.allocator if self._server.ready.get("preloaded", True) else "system"

    def of(
        self, case: Case, run: Child, lookups: Sequence[Any] = (), layout: int = 0
    ) -> counting.Counted:
        """Count ``case``, for which ``run`` carries out tasks.

        ``lookups`` is what it looks up on types, as far as that is known: none evicts another one.
        ``layout`` is another memory layout for the case; 0 is that of the server.

        Raises:
            WorkerError, ServerStartError, CompileError: the case or the empty loop fails.
            CallgrindFormatError, OSError: Callgrind left no usable dump.
        """
        kind = kind_of(case)
        loop = self._loops.get(case.autolabels.language) if kind.has_windows else counting.Loop()
        request, answers = kind.asked(lookups, layout), list[Mapping[str, Any]]()
        try:
            answers.extend(self._answers(run, kind, request))
            answer, folder = answers[-1], self._server.folder
            counted = kind.evaluate(answers, folder, loop)
            if case.autolabels.language is Language.CPP:
                functions = counting.with_named_statement(counted.functions)
                counted = attrs.evolve(counted, functions=functions)
            if counted.instructions.per_run + loop.per_run == 0:  # not even the loop is left
                raise WorkerError(Failure(FailureKind.COMPILE, _REMOVED))
            others = counting.others_in(folder / "dumps", answer["pid"]) if kind.has_windows else 0
            if self._profile.callgrind_out is not None:
                last = [answer, *answer.get("windows", ())][-1]["dump"]
                path = self._profile.callgrind_out / callgrind_name(case, self._build_name)
                shutil.copy(folder / f"{last}-01", path)
        finally:
            for answered in answers:
                remove_dumps(self._server.folder / "dumps", answered["pid"])
        if self.allocator_name != "steady":
            counted = counted.unallocated()
        if not others:
            return counted
        # Callgrind dumps other threads only at the end of a process. A second process with fewer
        # runs has the same costs around them.
        shorter = run({**request, "pattern": (), "dumped": 0, KEPT: False})
        fewer = counting.others_in(folder / "dumps", shorter["pid"])
        remove_dumps(folder / "dumps", shorter["pid"])
        return counted.with_others((others - fewer) / (answer["runs"] - shorter["runs"]))

    def _answers(
        self, run: Child, kind: Kind, request: Mapping[str, Any]
    ) -> Iterator[Mapping[str, Any]]:
        if not kind.has_windows:
            yield from (run(request) for _ in range(kind.children))
            return
        answer = run({**request, "dumped": counting.FEWEST_DUMPED})
        if not counting.are_alike(answer["windows"]):
            # Which functions vary, the dumps of all windows tell.
            remove_dumps(self._server.folder / "dumps", answer["pid"])
            answer = run(request)
        yield answer

    def _measure_loop(self, language: Language) -> counting.Loop:
        # Its dumps stay: where a server is held for others, they read them, too.
        run = empty_loop(self._server, self._compiler, language)
        answers = [*self._answers(run, WARM, WARM.asked((), 0))]
        counted = WARM.evaluate(answers, self._server.folder, counting.Loop())
        return counting.Loop.of(counted.profile, counted.functions.runs)


def empty_loop(server: Server, compiler: Compiler, language: Language) -> Child:
    """What carries out tasks of a case that is nothing but its loop, in children of ``server``."""
    stmt = _EMPTY_LOOP[language]
    case = {"stmt": stmt, "setup": "", "global_setup": "", "language": language.value}
    task = {"case": {**case, "num_threads": 1}, "cores": []}
    is_compiled = language is Language.CPP
    files = {"library": compiler.case(CppSource("", "", stmt))} if is_compiled else {}
    return lambda request: server.run({**task, KEPT: True, **request}, _LOOP_TIMEOUT_S, files)


def callgrind_name(case: Case, build_name: str) -> str:
    """The name of the file that ``--callgrind-out`` writes for a case: readable, and unique."""
    title, build = (
        re.sub(r"[^A-Za-z0-9+]+", "-", text).strip("-") for text in (case.title, build_name)
    )
    digest = hashlib.sha256(f"{case.definition_hash} {build_name}".encode()).hexdigest()
    return f"callgrind.out.{title[:150]}.{build[:40]}.{digest[:8]}"


# Estimated cycles

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
    cycles: counting.Loop


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
            found = self._simulated([answer["windows"] for answer in answers], loop)
            if case.autolabels.language is not Language.CPP or found.cycle_costs is None:
                return found
            costs = counting.with_named_statement(found.cycle_costs)
            return attrs.evolve(found, cycle_costs=costs)
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
            cycle_costs=counting.function_costs(*_profile(layouts[middle], folder), loop.cycles),
            metrics=Amounts(medians),
        )

    def _loop(self, run: Child) -> _EmptyLoop:
        # Its dumps stay: where a server is held for others, they read them, too.
        windows, folder = run(WARM.asked((), 0))["windows"], self._server.folder
        return _EmptyLoop(per_run(windows, folder), counting.Loop.of(*_profile(windows, folder)))


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
        functools.reduce(counting.less, (read(path, _WEIGHTS) for path in paths), nothing)
        for paths in (shorter, longer)
    )
    return counting.less(less_shorter, less_longer), runs


def _by_length(windows: _Windows, folder: Path) -> tuple[list[Path], list[Path], int]:
    """The dumps of shorter and of longer windows, and how many more iterations the latter have."""
    unit = min(window["runs"] for window in windows)
    shorter: list[Path] = []
    longer: list[Path] = []
    for window in windows:
        of_length = longer if window["runs"] > unit else shorter
        of_length.append(folder / (window["dump"] + counting.FIRST_THREAD))
    return shorter, longer, sum(window["runs"] - unit for window in windows)
