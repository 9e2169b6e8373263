"""The reference engine: one isolated worker for each case, torch's own Timer throughout.

Slow by nature, since each case imports torch under Callgrind; it is the yardstick for the fork
engine, and measures where forking is impossible.
"""

import re
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from instruction_counts.builds.hermetic import (
    STEADY_GLIBC,
    environment,
    interpreter_of,
    without_aslr,
)
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.labels import WARM_LOOP
from instruction_counts.core.runtimes import runtime_of
from instruction_counts.core.types import Language
from instruction_counts.domain.build import Fingerprint
from instruction_counts.domain.outcomes import (
    Failure,
    FailureKind,
    FunctionCost,
    FunctionCosts,
    Instructions,
    Outcome,
    Status,
    Times,
    Window,
)
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Engine, EngineEntry, case_message, refusal_of
from instruction_counts.system.worker_process import WorkerError, WorkerProcess, failure_of
from instruction_counts.system.worker_tasks import task_named

NUMBER = 100
"""Runs in a window, and so pastes of a Python statement (the default of torch's Timer)."""
REPEATS = 3

_FUNCTION = re.compile(r"(?:([^:]*):)?(.*?)(?: \[(.*)\])?", re.DOTALL)
"""Torch's spelling: ``file:function [library]``."""


class TimerEngine(Engine):
    """Measures with `Timer.blocked_autorange` and `Timer.collect_callgrind`.

    Nothing is found out before, or gets ready: every case has a process of its own.
    """

    def __init__(self, facts: BuildFacts, min_run_time_s: float = 0.2) -> None:
        self._facts, self._build = facts, facts.build
        self._min_run_time_s = min_run_time_s
        self._running: set[WorkerProcess] = set()
        self._lock = threading.Lock()
        self._closed = False

    def measure(self, order: WorkOrder, cores: tuple[int, ...], folder: Path) -> Outcome:
        """Measure one case in a process of its own."""
        reason = refusal_of(self._facts)
        if order.counts and runtime_of(order.case.autolabels.runtime).has_own_servers:
            # It would run or import Inductor under Callgrind, for minutes, on the whole machine.
            reason = "only the fork engine counts what Inductor makes"
        if order.case.timer_args.kind != WARM_LOOP:
            reason = "only the fork engine measures a statement that runs once"
        if reason:
            return Outcome.failed(Failure(FailureKind.REFUSED, reason))
        temporary = folder / "tmp"
        temporary.mkdir(mode=0o700)
        try:
            own = {**STEADY_GLIBC, "TMPDIR": str(temporary), "HOME": str(temporary)}
            if order.case.autolabels.language is Language.CPP:
                own["CXX"] = self._facts.compiler.path
            interpreter, variables = interpreter_of(self._build), environment(self._build, own)
            with WorkerProcess(interpreter, variables, folder, without_aslr()) as worker:
                with self._lock:
                    self._running.add(worker)
                    if self._closed:
                        worker.kill()
                try:
                    answer = worker.ask(self._request(order, cores, folder), order.timeout_s)
                    return _outcome(answer, worker.output)
                finally:
                    with self._lock:
                        self._running.discard(worker)
        except WorkerError as error:
            return Outcome.failed(error.failure)

    @property
    def fingerprint(self) -> Fingerprint:
        """The build's own; the system's allocator is counted."""
        return self._facts.fingerprint

    def close(self) -> None:
        """Kill every worker; the lanes see failed outcomes."""
        with self._lock:
            self._closed = True
            for worker in self._running:
                worker.kill()

    def _request(self, order: WorkOrder, cores: tuple[int, ...], folder: Path) -> dict[str, Any]:
        artefact = runtime_of(order.case.autolabels.runtime).artefact
        suffix = "" if artefact is None else artefact.suffix
        return {
            **task_named("measure").request,
            "case": {**case_message(order.case), "artefact_suffix": suffix},
            "cores": list(cores),
            "folder": str(folder),
            "times": order.times,
            "counts": order.counts,
            "min_run_time_s": self._min_run_time_s,
            "number": NUMBER,
            "repeats": REPEATS,
        }


def _outcome(answer: Mapping[str, Any], output: str) -> Outcome:
    if answer["status"] != "ok":
        return Outcome.failed(failure_of(answer["failure"], output))
    times, counts = answer.get("times"), answer.get("counts")
    return Outcome(
        Status.OK,
        instructions=_instructions(counts) if counts else None,
        times=Times.of(times["values_s"], times["runs"]) if times else None,
        functions=_functions(counts) if counts else None,
    )


def _instructions(counts: Mapping[str, Any]) -> Instructions:
    """Per iteration: the smallest window less torch's baseline (the same harness around ``pass``).

    The windows of a Python statement differ by its cold inline caches; the smallest is the warmest.
    """
    runs, baseline = counts["runs"], counts["baseline"]
    per_run = [round((total - baseline) / runs) for total in counts["windows"]]
    return Instructions(
        per_run=max(0, min(per_run)),  # a statement that Python drops varies around 0
        exact=len(set(counts["windows"])) == 1,
        windows=tuple(Window(runs, total) for total in counts["windows"]),
        spread=max(per_run) - min(per_run),
        loop=round(baseline / runs),
    )


def _functions(counts: Mapping[str, Any]) -> FunctionCosts:
    inclusive = {name: count for count, name in counts["inclusive"]}
    costs = []
    for exclusive, name in counts["exclusive"]:
        found = _FUNCTION.fullmatch(name)
        assert found is not None, name
        file, function, path = found.groups(default="")
        library = path.rpartition("/")[2]
        costs.append(FunctionCost(library, file or "???", function, exclusive, inclusive.get(name)))
    costs.sort(key=lambda cost: (-cost.exclusive, cost.function, cost.library))
    return FunctionCosts(counts["runs"], tuple(costs))


ENTRY = EngineEntry(
    "timer",
    "the reference; starts a process for each case",
    False,
    lambda facts, profile, notice: TimerEngine(facts),  # noqa: ARG005 - it has no choice
)
