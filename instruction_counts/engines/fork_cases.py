"""Measuring a case with the fork engine: task by task, each in a child of one of its servers."""

import contextlib
import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import attrs
import cattrs

from instruction_counts.builds.probing import BuildFacts
from instruction_counts.core.labels import CUDA
from instruction_counts.core.types import Language
from instruction_counts.domain.executed import CudaCalls, Executed
from instruction_counts.domain.metrics import BYTECODES, OPERATOR_CALLS, Amounts, metrics
from instruction_counts.domain.outcomes import Outcome, Output, Status, Times
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.cpp.process import CompileError
from instruction_counts.engines.cpp.source import CppSource, with_output
from instruction_counts.engines.engine import Notice, Profile, case_message
from instruction_counts.engines.fork_counts import CaseCounts, CaseCycles
from instruction_counts.engines.fork_files import CaseFiles
from instruction_counts.engines.kinds import kind_of
from instruction_counts.engines.machine import read_machine
from instruction_counts.engines.timer import TimerEngine
from instruction_counts.engines.warm.client import HolderGoneError, Server
from instruction_counts.system.worker_process import WorkerError
from instruction_counts.system.worker_tasks import task_named

_FIRST_RUNS_TIMED = 5
"""In processes of their own."""
_device_is_free = threading.Lock()
"""Lanes take turns: a kernel of another case would be waited for, too."""


@attrs.define
class Attempt:
    """An order that is measured, task by task, each in a child of a server."""

    order: WorkOrder
    cores: tuple[int, ...]
    files: Mapping[str, Path] = attrs.field(factory=dict)
    """What its case needs."""
    left_running: int = 0
    """How many processes its children left running."""

    def run(
        self,
        server: Server,
        task: Mapping[str, Any],
        files: Mapping[str, Path] | None = None,
    ) -> dict[str, Any]:
        """Carry out a task in a child of ``server``, with ``files`` in place of its own.

        Raises:
            WorkerError, ServerStartError: as `ForkServer.run` does.
        """
        case = {"cores": list(self.cores), "case": case_message(self.order.case)}
        named = {**case, **task, **task_named(task["task"]).request}
        files = self.files if files is None else files
        answer = server.run(named, self.order.timeout_s, files)
        self.left_running += answer["left_running"]
        return answer

    def try_to_run(self, server: Server, name: str) -> dict[str, Any]:
        """The same, of a task that adds to what is measured: nothing where it fails.

        A case that cannot run fails when it is counted or timed.
        """
        try:
            return self.run(server, {"task": name})
        except HolderGoneError:  # no fault of the case
            raise
        except WorkerError:
            return {}


@attrs.frozen
class Servers:
    """The processes of an engine that fork: for times, for counts, and with simulated caches."""

    times: Server
    counts: Server
    cycles: Server


class CaseTasks:
    """Measures the cases of an engine; called by several lanes at once."""

    def __init__(
        self,
        facts: BuildFacts,
        compiler: Compiler,
        profile: Profile,
        servers: Servers,
        files: CaseFiles,
        notice: Notice,
        before_counts: Callable[[], object],
    ) -> None:
        self.counting = CaseCounts(servers.counts, compiler, profile, facts.build.name)
        self._compiler, self._profile, self._servers = compiler, profile, servers
        self._files, self._notice, self._before_counts = files, notice, before_counts
        self._on_device = TimerEngine(facts, profile.min_run_time_s)

    def close(self) -> None:
        """Kill what times cases on a device."""
        self._on_device.close()

    def measure(self, attempt: Attempt) -> Outcome:
        """All that is asked for of a case.

        Raises:
            WorkerError, CompileError, CallgrindFormatError: it cannot be timed or counted.
            ServerStartError, OSError: nothing can be.
        """
        order = attempt.order
        for server in (self._servers.counts, self._servers.cycles):
            if not server.cores:
                server.cores = attempt.cores[:1]  # always on one, also where a lane is first
        attempt.files = self._files.of(order, attempt.cores)
        is_warm = kind_of(order.case).has_windows
        times = self._times_of(attempt, is_warm=is_warm) if order.times else None
        used, reason = self._resources_of(attempt) if is_warm else ({}, None)
        observed = self._observed(attempt)
        metrics = {**used, **self._metrics_of_tasks(attempt)}
        if order.hardware and is_warm:
            metrics |= self._hardware_of(attempt)
        executed = None
        if order.executed and observed:
            executed = cattrs.structure(observed["executed"], Executed)
            if self._profile.device == CUDA:
                executed = attrs.evolve(executed, cuda=self._cuda_calls(attempt))
                metrics |= executed.cuda_calls
            metrics[BYTECODES.name] = executed.bytecodes
            metrics[OPERATOR_CALLS.name] = executed.operator_calls
        beside = Outcome(
            Status.OK,
            times=times,
            executed=executed,
            executed_digests=None if executed is None else executed.digests,
            output=self._output_of(attempt) if order.output and is_warm else None,
            metrics=Amounts(metrics),
            resources_reason=reason,
        )
        if not order.counts:
            return beside
        self._before_counts()
        run = partial(attempt.run, self._servers.counts)
        lookups = observed.get("lookups", ())
        counted = self.counting.of(order.case, run, lookups, order.layout)
        simulated = Outcome(Status.OK)
        if order.asks_for_cycles:
            simulate = partial(attempt.run, self._servers.cycles)
            simulated = self._simulating.of(order.case, simulate, lookups)
        return attrs.evolve(
            beside,
            instructions=counted.instructions,
            functions=counted.functions,
            cycles=simulated.cycles,
            cycle_costs=simulated.cycle_costs,
            metrics=Amounts({**counted.metrics, **metrics, **simulated.metrics}),
        )

    def _hardware_of(self, attempt: Attempt) -> Mapping[str, Any]:
        """What the processor counts; nothing, which is said once, where it may not be read."""
        answer = attempt.try_to_run(self._servers.times, "hardware")
        if reason := answer.get("refused"):
            self._notice(
                f"The processor's counters cannot be read: {reason}. Many virtual machines have "
                "none; elsewhere, kernel.perf_event_paranoid has to be 2 or less."
            )
        found: Mapping[str, Any] = answer.get("metrics", {})
        return found

    @cached_property
    def _simulating(self) -> CaseCycles:
        machine = self._profile.machine or read_machine()
        return CaseCycles(self._servers.cycles, self._compiler, machine, self._notice)

    def _times_of(self, attempt: Attempt, *, is_warm: bool) -> Times | None:
        if attempt.order.case.timer_args.device == CUDA:
            return self._times_on_device(attempt)
        warm = {"task": "times", "min_run_time_s": self._profile.min_run_time_s}
        tasks = [warm] if is_warm else [{"task": "once_timed"}] * _FIRST_RUNS_TIMED
        answers = [attempt.run(self._servers.times, task)["times"] for task in tasks]
        values_s = [value for answer in answers for value in answer["values_s"]]
        return Times.of(values_s, answers[0]["runs"])

    def _times_on_device(self, attempt: Attempt) -> Times | None:
        """Those with CUDA's own libraries; None where it fails there, and has a count to keep.

        A process of its own has them: the servers have stand-ins, and a device is not forked.
        """
        order = attrs.evolve(attempt.order, counts=False)
        folder = Path(tempfile.mkdtemp(dir=self._files.folder, prefix="times-"))
        with _device_is_free:
            found = self._on_device.measure(order, attempt.cores, folder)
        shutil.rmtree(folder, ignore_errors=True)
        if found.failure is not None:
            if not attempt.order.counts:
                raise WorkerError(found.failure)
            self._notice(f"{order.title}: no time on the GPU: {found.failure.summary}")
        return found.times

    def _output_of(self, attempt: Attempt) -> Output | None:
        """What the statement computes; None where that cannot be found out.

        It runs twice, in differently filled memory and with different random numbers.
        """
        order, files = attempt.order, attempt.files
        try:
            if order.case.autolabels.language is Language.CPP:
                source = with_output(CppSource.of(order.case))
                files = {**files, "library": self._compiler.case(source, attempt.cores)}
            first, second = self._outputs(attempt, files)
        except (WorkerError, CompileError):
            return None  # a case that cannot run fails when it is counted or timed
        return attrs.evolve(cattrs.structure(first, Output), repeatable=first == second)

    def _outputs(self, attempt: Attempt, files: Mapping[str, Path]) -> Sequence[Mapping[str, Any]]:
        """Of both runs, in one child; in two where the first may have a part in a difference.

        What a C++ case saves is one run.
        """

        def outputs_of(*variations: int) -> Sequence[Mapping[str, Any]]:
            task = {"task": "output", "variations": variations}
            answer = attempt.run(self._servers.times, task, files)
            found: Sequence[Mapping[str, Any]] = answer["outputs"]
            return found

        if attempt.order.case.autolabels.language is Language.PYTHON:
            with contextlib.suppress(WorkerError):
                first, second = outputs_of(0, 1)
                if first == second:
                    return first, second
        return *outputs_of(0), *outputs_of(1)

    def _observed(self, attempt: Attempt) -> Mapping[str, Any]:
        """What an iteration executes and looks up, as far as that is asked for."""
        order = attempt.order
        is_python = order.case.autolabels.language is Language.PYTHON
        if not (order.executed or (order.counts and is_python)):
            return {}
        if kind_of(order.case).has_windows:
            return attempt.try_to_run(self._servers.times, "executed")
        seen = [
            attempt.try_to_run(self._servers.times, name)
            for name in ("once_bytecodes", "once_operators")
        ]
        return {"executed": {**seen[0]["executed"], **seen[1]["executed"]}} if all(seen) else {}

    def _cuda_calls(self, attempt: Attempt) -> tuple[CudaCalls, ...] | None:
        """What an iteration asks of CUDA; None where a build has stand-ins, and the case none."""
        if attempt.order.case.timer_args.device != CUDA:
            return None
        answer = attempt.try_to_run(self._servers.times, "cuda_calls")
        return cattrs.structure(answer["calls"], tuple[CudaCalls, ...]) if answer else None

    def _resources_of(self, attempt: Attempt) -> tuple[Mapping[str, Any], str | None]:
        """What the statement uses beside instructions, and why something is not known of it."""
        if not attempt.order.asks_for_resources:
            return {}, None
        try:
            found = attempt.run(self._servers.times, {"task": "resources"})
        except WorkerError as error:
            return {}, error.failure.summary
        return found["metrics"], found["reason"]

    def _metrics_of_tasks(self, attempt: Attempt) -> dict[str, Any]:
        """The metrics that tasks of their own take; those are left out that fail."""
        found: dict[str, Any] = {}
        for name in dict.fromkeys(metric.task for metric in metrics() if metric.task):
            task = task_named(name)
            is_asked = attempt.order.counts or not task.while_counting
            if is_asked and task.only_for in {"", self._files.prepared_by}:
                server = self._servers.counts if task.while_counting else self._servers.times
                found |= attempt.try_to_run(server, name).get("metrics", {})
        return found
