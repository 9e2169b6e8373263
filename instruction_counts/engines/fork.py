"""The fork engine: two servers with torch imported, a forked child for each measurement.

One server runs natively and takes wall times, one runs under Callgrind and counts. C++ cases are
compiled once, and their shared object serves both. See ``docs/explanation/measurement.md``.
"""

import contextlib
import secrets
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import Any, cast

import attrs
import cattrs

from instruction_counts.builds.compilers import first_line
from instruction_counts.builds.cuda.stand_ins import NO_STAND_INS
from instruction_counts.builds.files import digest_of
from instruction_counts.builds.hermetic import environment, without_aslr
from instruction_counts.builds.probing import BuildFacts, made_for
from instruction_counts.core.api import TORCH
from instruction_counts.core.labels import CPU, CUDA
from instruction_counts.core.runtimes import Artefact, runtime_of
from instruction_counts.core.types import Language
from instruction_counts.domain.build import Fingerprint
from instruction_counts.domain.errors import BuildError
from instruction_counts.domain.executed import CudaCalls, Executed
from instruction_counts.domain.metrics import (
    BYTECODES,
    LEFT_RUNNING,
    OPERATOR_CALLS,
    Amounts,
    metrics,
)
from instruction_counts.domain.outcomes import Failure, FailureKind, Outcome, Output, Status, Times
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.callgrind import CallgrindFormatError
from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.cpp.process import CompileError
from instruction_counts.engines.cpp.source import CppSource, with_output
from instruction_counts.engines.engine import (
    Engine,
    EngineEntry,
    Lend,
    Notice,
    Profile,
    artefact_source,
    case_message,
)
from instruction_counts.engines.fork_counts import CaseCounts, CaseCycles, Once
from instruction_counts.engines.fork_processes import COUNTS, CYCLES, TIMES, ForkProcesses, Which
from instruction_counts.engines.fork_server import CACHES, ServerStartError
from instruction_counts.engines.kinds import kind_of
from instruction_counts.engines.machine import read_machine
from instruction_counts.engines.timer import TimerEngine
from instruction_counts.engines.turns import Blocks, opened_blocks, time_in_turns
from instruction_counts.engines.warm.channel import keep_s
from instruction_counts.engines.warm.client import HolderGoneError, Server, WarmServers
from instruction_counts.system.cache import Cache, has_its_sources, key_of, note_sources
from instruction_counts.system.folders import WorkFolder
from instruction_counts.system.steadiness import Surroundings
from instruction_counts.system.worker_process import WorkerError
from instruction_counts.system.worker_tasks import has_others, task_named

_FIRST_RUNS_TIMED = 5
"""In processes of their own."""
_device_is_free = threading.Lock()
"""Lanes take turns: a kernel of another case would be waited for, too."""


@attrs.define
class _Attempt:
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
class _Needs:
    """What sets the servers of a case apart."""

    device: str
    prepared_by: str = ""
    """The module that gets them ready, if any does."""
    imports: tuple[str, ...] = TORCH
    """What their children find imported."""


class ForkEngine:
    """Measures in forked children of two servers; a server that does not start fails its cases.

    Cases of a runtime whose servers are prepared, of another device or with imports of their own
    have two for themselves, in an engine below this one; it is made when such a case comes.
    """

    def __init__(
        self,
        facts: BuildFacts,
        compiler: Compiler,
        profile: Profile,
        notice: Callable[[str], None],
        needs: _Needs | None = None,
    ) -> None:
        self._facts, self._compiler, self._profile = facts, compiler, profile
        self._notice, self._own = notice, needs or _Needs(profile.device)
        self._others: dict[_Needs, ForkEngine] = {}
        self._making_others = threading.Lock()
        self._is_closed = False
        self.stand_ins, cuda = NO_STAND_INS, facts.cuda
        if profile.device == CUDA and cuda is not None:
            folder = Path(facts.torch_root) / "lib"
            self.stand_ins = made_for(facts.build, folder, cuda, compiler.cache)
        libraries = (compiler.native("steady"), compiler.native("fresh"), *self.stand_ins.paths)
        with contextlib.ExitStack() as undo:
            self._folder = WorkFolder()
            undo.callback(self._folder.remove)
            self._processes = ForkProcesses(facts, profile, self._folder.path, libraries)
            server = self._servers(libraries)
            self._times, self._counts, self._cycles = map(server, (TIMES, COUNTS, CYCLES))
            undo.pop_all()
        self._counting = CaseCounts(self._counts, compiler, profile, facts.build.name)
        self._losses = Once(self._report_losses)
        self._on_device = TimerEngine(facts, profile.min_run_time_s)
        self._artefacts = Once(self._make_artefact)
        self._refusals = Once(self._notice)
        self._starting: list[threading.Thread] = []
        self._start_failure: Failure | None = None

    def _servers(self, libraries: Sequence[Path]) -> Callable[[str], Server]:
        """What makes a server of a role: one of this engine, or one that others can use, too."""
        profile, notice, own = self._profile, self._notice, self._own
        which = partial(Which, prepared_by=own.prepared_by, imports=own.imports)
        # Servers that others start would not have tasks that were registered here.
        is_usual = profile.keeps_servers and not profile.layout and not has_others()
        # Without torch a server starts quickly.
        kept_s = keep_s() if is_usual and {*TORCH} <= {*own.imports} else 0.0
        if not kept_s:
            return lambda role: self._processes.server(which(role), notice)
        try:
            warm = WarmServers(self._facts, profile, libraries, kept_s, notice)
            warm.attend()
        except (OSError, subprocess.SubprocessError) as error:
            notice(f"Servers cannot be kept for the next command: {error}")
            return lambda role: self._processes.server(which(role), notice)
        return lambda role: warm.server(which(role))

    @property
    def can_count(self) -> bool:
        """Whether the counting server is ready."""
        return self._counts.is_ready

    def check(self, orders: Sequence[WorkOrder]) -> None:
        """Start Callgrind as the counting server will, without torch: it takes a second.

        A process that crashes there is none of ours: its cases fail, and say so.

        Raises:
            BuildError: it does not start, and ``orders`` ask for counts; or what cases of another
                device need cannot be made.
        """
        self.forget_artefacts()
        needed = {self._needs_of(order) for order in orders if not order.refusal}
        engines = [self if needs == self._own else self._other(needs) for needs in needed]
        counts = any(order.counts and not order.refusal for order in orders)
        if not counts or any(engine.can_count for engine in engines):
            return
        reason = self._processes.callgrind_fault()
        if reason:
            raise BuildError(
                f'build "{self._facts.build.name}": the fork engine cannot count, because '
                f"Valgrind does not start:\n{reason}",
                "Fix it, try the slower engine (--engine timer), or skip the counts (--no-counts).",
            )

    def forget_artefacts(self) -> None:
        """Make again what cases need: files that it was made of may have been edited since."""
        self._artefacts = Once(self._make_artefact)
        for other in list(self._others.values()):
            other.forget_artefacts()

    def measure(self, order: WorkOrder, cores: tuple[int, ...], folder: Path) -> Outcome:
        """Measure one case in children of both servers."""
        needs = self._needs_of(order)
        if needs != self._own:
            return self._other(needs).measure(order, cores, folder)
        attempt = _Attempt(order, cores)
        outcome = self.outcome_of(lambda: self._measure(attempt))
        counted = outcome.instructions
        if counted is not None and not runtime_of(order.case.autolabels.runtime).repeats:
            # Its windows may agree, but not with those of another process.
            outcome = attrs.evolve(outcome, instructions=attrs.evolve(counted, exact=False))
        if attempt.left_running:
            metrics = Amounts({**outcome.metrics, LEFT_RUNNING.name: attempt.left_running})
            outcome = attrs.evolve(outcome, metrics=metrics)
        return outcome

    @contextlib.contextmanager
    def blocks(self, order: WorkOrder, cores: tuple[int, ...], place: Path) -> Iterator[Blocks]:
        """A new process for a case, timed block by block; a socket at ``place`` leads to it.

        Raises:
            WorkerError, CompileError: there is none.
        """
        needs = self._needs_of(order)
        if needs != self._own:
            with self._other(needs).blocks(order, cores, place) as found:
                yield found
            return
        if self._start_failure is not None:
            raise WorkerError(self._start_failure)
        attempt = _Attempt(order, cores)
        try:
            self._times.warm_up()
        except ServerStartError as error:  # the other build's may start
            title = f'the server of build "{self._facts.build.name}"'
            self._start_failure = Failure(FailureKind.REFUSED, f"{title} does not start: {error}")
            raise WorkerError(self._start_failure) from error
        attempt.files = self._files(attempt)

        def run(place: Path) -> None:
            attempt.run(self._times, {"task": "blocks", "socket": str(place)})

        with opened_blocks(run, place) as found:
            yield found

    def outcome_of(self, measure: Callable[[], Outcome]) -> Outcome:
        """What ``measure`` finds, or the failure that it raises."""
        if self._start_failure is not None:
            return Outcome.failed(self._start_failure)
        try:
            return measure()
        except (WorkerError, CompileError) as error:
            failure = error.failure
        except CallgrindFormatError as error:
            failure = Failure(FailureKind.EXIT, f"no usable Callgrind dump: {error}")
        except OSError as error:
            failure = Failure(FailureKind.EXIT, str(error))
        except ServerStartError as error:
            preloads = self._facts.build.env.get("LD_PRELOAD")
            may_clash = preloads and self._profile.allocator == "steady"
            hint = " (if LD_PRELOAD is an allocator: --allocator system)" if may_clash else ""
            message = f"the server does not start{hint}: {error}"
            failure = self._start_failure = Failure(FailureKind.REFUSED, message)
        return Outcome.failed(failure)

    def _needs_of(self, order: WorkOrder) -> _Needs:
        """What servers an order needs; some builds have no other than those of CUDA."""
        is_cuda = self._facts.lacks_cuda_libraries or order.case.timer_args.device == CUDA
        runtime, imports = runtime_of(order.case.autolabels.runtime), order.case.timer_args.imports
        imports = runtime.imports if imports == TORCH else imports
        return _Needs(CUDA if is_cuda else CPU, runtime.prepared_by, imports)

    def _other(self, needs: _Needs) -> "ForkEngine":
        with self._making_others:
            if needs not in self._others:
                profile = attrs.evolve(self._profile, device=needs.device)
                other = ForkEngine(self._facts, self._compiler, profile, self._notice, needs)
                other._refusals = self._refusals  # what was said is not said again
                self._others[needs] = other
                if self._is_closed:
                    other.close()
            return self._others[needs]

    def close(self) -> None:
        """Kill servers, children and compilers, and remove their files."""
        self._is_closed = True
        own = self._cycles, self._counts, self._times, self._on_device, self._compiler
        # Each, also where an interrupt cuts another short.
        with contextlib.ExitStack() as stack:
            stack.callback(self._folder.remove)
            for part in (*self._others.values(), *own):
                stack.callback(part.close)

    @property
    def fingerprint(self) -> Fingerprint:
        """The build's own, with what is known of the server that counts."""
        others = list(self._others.values())  # more may come meanwhile
        for other in others:
            if not self._counts.ready:
                return other.fingerprint
        made = [self.stand_ins, *(other.stand_ins for other in others)]
        holds = self._counts.ready.get("holds_caches")
        return attrs.evolve(
            self._facts.fingerprint,
            allocator=self._counting.allocator_name,
            pinned_isa=self._profile.pinned_isa,
            counted_capability=self._counts.ready.get("capability", ""),
            caches="" if holds is None else "held" if holds else "not held",
            stand_ins=next((found.identity for found in made if found.paths), ""),
        )

    def start(self, orders: Sequence[WorkOrder], lend: Lend) -> None:
        """Begin to start the servers in the background, the counting one on a core of its own."""
        others = [order for order in orders if self._needs_of(order) != self._own]
        orders = [order for order in orders if order not in others]
        starts = []
        if any(order.times for order in orders):
            starts.append(lambda: _warm_up(self._times))
        wanted = {
            self._counts: any(order.counts for order in orders),
            self._cycles: any(order.asks_for_cycles for order in orders),
        }
        for server, is_wanted in wanted.items():
            if is_wanted and not server.is_ready:
                starts.append(partial(self._start_counting, server, lend))
        if others:
            starts.append(lambda: self._start_others(others, lend))
        for start in starts:
            thread = threading.Thread(target=start, daemon=True)
            thread.start()
            self._starting.append(thread)
        sources = [
            CppSource.of(order.case)
            for order in orders
            if order.case.autolabels.language is Language.CPP and not order.refusal
        ]
        if sources:  # nobody waits for all of it
            ahead = partial(self._compiler.compile_ahead, sources, lend)
            threading.Thread(target=ahead, daemon=True).start()

    def _start_others(self, orders: Sequence[WorkOrder], lend: Lend) -> None:
        for thread in self._starting:
            if thread is not threading.current_thread():
                thread.join()
        for needs in dict.fromkeys(map(self._needs_of, orders)):
            if not self._is_closed:
                own = [order for order in orders if self._needs_of(order) == needs]
                self._other(needs).start(own, lend)
        for other in list(self._others.values()):
            other.wait()

    def _start_counting(self, server: Server, lend: Lend) -> None:
        with lend(lambda: server.is_closed) as cores:
            if cores:
                server.cores = cores
                _warm_up(self._times)  # what it finds and makes is what the other one is given
                _warm_up(server)

    def wait(self) -> None:
        """Wait for the servers that `start` began to start."""
        for thread in self._starting:
            thread.join()

    def _measure(self, attempt: _Attempt) -> Outcome:
        order = attempt.order
        for server in (self._counts, self._cycles):
            if not server.cores:
                server.cores = attempt.cores[:1]  # always on one, also where a lane is first
        attempt.files = self._files(attempt)
        is_warm = kind_of(order.case).has_windows
        times = None
        if order.times:
            times = self._times_of(attempt, is_warm=is_warm)
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
        self._losses.get(None)
        run = partial(attempt.run, self._counts)
        lookups = observed.get("lookups", ())
        counted = self._counting.of(order.case, run, lookups, order.layout)
        simulated = Outcome(Status.OK)
        if order.asks_for_cycles:
            simulate = partial(attempt.run, self._cycles)
            simulated = self._simulating.of(order.case, simulate, lookups)
        return attrs.evolve(
            beside,
            instructions=counted.instructions,
            functions=counted.functions,
            cycles=simulated.cycles,
            cycle_costs=simulated.cycle_costs,
            metrics=Amounts({**counted.metrics, **metrics, **simulated.metrics}),
        )

    def _hardware_of(self, attempt: _Attempt) -> Mapping[str, Any]:
        """What the processor counts; nothing, which is said once, where it may not be read."""
        answer = attempt.try_to_run(self._times, "hardware")
        if reason := answer.get("refused"):
            self._refusals.get(
                f"The processor's counters cannot be read: {reason}. Many virtual machines have "
                "none; elsewhere, kernel.perf_event_paranoid has to be 2 or less."
            )
        found: Mapping[str, Any] = answer.get("metrics", {})
        return found

    @cached_property
    def _simulating(self) -> CaseCycles:
        machine = self._profile.machine or read_machine()
        return CaseCycles(self._cycles, self._compiler, machine, self._notice)

    def _times_of(self, attempt: _Attempt, *, is_warm: bool) -> Times | None:
        if attempt.order.case.timer_args.device == CUDA:
            return self._times_on_device(attempt)
        warm = {"task": "times", "min_run_time_s": self._profile.min_run_time_s}
        tasks = [warm] if is_warm else [{"task": "once_timed"}] * _FIRST_RUNS_TIMED
        answers = [attempt.run(self._times, task)["times"] for task in tasks]
        values_s = [value for answer in answers for value in answer["values_s"]]
        return Times.of(values_s, answers[0]["runs"])

    def _times_on_device(self, attempt: _Attempt) -> Times | None:
        """Those with CUDA's own libraries; None where it fails there, and has a count to keep.

        A process of its own has them: the servers have stand-ins, and a device is not forked.
        """
        order = attrs.evolve(attempt.order, counts=False)
        folder = Path(tempfile.mkdtemp(dir=self._folder.path, prefix="times-"))
        with _device_is_free:
            found = self._on_device.measure(order, attempt.cores, folder)
        shutil.rmtree(folder, ignore_errors=True)
        if found.failure is not None:
            if not attempt.order.counts:
                raise WorkerError(found.failure)
            self._notice(f"{order.title}: no time on the GPU: {found.failure.summary}")
        return found.times

    def _output_of(self, attempt: _Attempt) -> Output | None:
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

    def _outputs(self, attempt: _Attempt, files: Mapping[str, Path]) -> Sequence[Mapping[str, Any]]:
        """Of both runs, in one child; in two where the first may have a part in a difference.

        What a C++ case saves is one run.
        """

        def outputs_of(*variations: int) -> Sequence[Mapping[str, Any]]:
            task = {"task": "output", "variations": variations}
            found: Sequence[Mapping[str, Any]] = attempt.run(self._times, task, files)["outputs"]
            return found

        if attempt.order.case.autolabels.language is Language.PYTHON:
            with contextlib.suppress(WorkerError):
                first, second = outputs_of(0, 1)
                if first == second:
                    return first, second
        return *outputs_of(0), *outputs_of(1)

    def _observed(self, attempt: _Attempt) -> Mapping[str, Any]:
        """What an iteration executes and looks up, as far as that is asked for."""
        order = attempt.order
        is_python = order.case.autolabels.language is Language.PYTHON
        if not (order.executed or (order.counts and is_python)):
            return {}
        if kind_of(order.case).has_windows:
            return attempt.try_to_run(self._times, "executed")
        seen = [
            attempt.try_to_run(self._times, name) for name in ("once_bytecodes", "once_operators")
        ]
        return {"executed": {**seen[0]["executed"], **seen[1]["executed"]}} if all(seen) else {}

    def _cuda_calls(self, attempt: _Attempt) -> tuple[CudaCalls, ...] | None:
        """What an iteration asks of CUDA; None where a build has stand-ins, and the case none."""
        if attempt.order.case.timer_args.device != CUDA:
            return None
        answer = attempt.try_to_run(self._times, "cuda_calls")
        return cattrs.structure(answer["calls"], tuple[CudaCalls, ...]) if answer else None

    def _resources_of(self, attempt: _Attempt) -> tuple[Mapping[str, Any], str | None]:
        """What the statement uses beside instructions, and why something is not known of it."""
        if not attempt.order.asks_for_resources:
            return {}, None
        try:
            found = attempt.run(self._times, {"task": "resources"})
        except WorkerError as error:
            return {}, error.failure.summary
        return found["metrics"], found["reason"]

    def _metrics_of_tasks(self, attempt: _Attempt) -> dict[str, Any]:
        """The metrics that tasks of their own take; those are left out that fail."""
        found: dict[str, Any] = {}
        for name in dict.fromkeys(metric.task for metric in metrics() if metric.task):
            task = task_named(name)
            is_asked = attempt.order.counts or not task.while_counting
            if is_asked and task.only_for in {"", self._own.prepared_by}:
                server = self._counts if task.while_counting else self._times
                found |= attempt.try_to_run(server, name).get("metrics", {})
        return found

    def _files(self, attempt: _Attempt) -> dict[str, Path]:
        """What the case needs that has to be made first: its artefact, its shared object."""
        files: dict[str, Path] = {}
        case = attempt.order.case
        source, artefact = artefact_source(case), runtime_of(case.autolabels.runtime).artefact
        if source is not None and artefact is not None:
            make = self._make_artefact if artefact.is_kept else self._artefacts.get
            files["artefact"] = make(source, artefact, attempt)
        if self._own.prepared_by:
            files[CACHES] = self._caches_of(attempt)
        if case.autolabels.language is Language.CPP:
            files["library"] = self._compiler.case(CppSource.of(case), attempt.cores)
        return files

    def _caches_of(self, attempt: _Attempt) -> Path:
        """The folder of what is compiled in the first runs of a case, made natively."""
        args = attempt.order.case.timer_args
        key = key_of(args.setup, args.stmt, str(args.num_threads), *self._identity)

        def build(folder: Path) -> None:
            case = case_message(attempt.order.case)
            self._make(self._own.prepared_by, case, attempt, {CACHES: folder / CACHES})

        return self._compiler.cache.entry(self._own.prepared_by, key, build) / CACHES

    @cached_property
    def _identity(self) -> tuple[str, ...]:
        """What decides, beside a case, what is compiled in it."""
        found = self._facts.fingerprint
        variables = environment(self._facts.build)
        inductors = variables.get("CXX", "g++")  # as Inductor chooses it
        path = shutil.which(inductors, path=variables["PATH"])
        return (
            inductors,
            first_line([path or inductors, "--version"]),
            found.compiler,
            found.libc,
            found.python,
            found.torch,
            found.torch_git,
            digest_of(self._facts.files),
            repr(sorted(self._facts.build.env.items())),
        )

    def _make_artefact(self, source: str, artefact: Artefact, attempt: _Attempt) -> Path:
        name, num_threads = f"artefact{artefact.suffix}", attempt.order.case.num_threads

        def build(folder: Path) -> None:
            asked = {"artefact_source": source, "num_threads": num_threads}
            answer = self._make("artefact", asked, attempt, {"artefact": folder / name})
            note_sources(folder, answer["read"])

        if artefact.is_kept:
            key = key_of(source, str(num_threads), *self._identity)
            kept = self._compiler.cache.entry("artefacts", key, build, is_current=has_its_sources)
            return kept / name
        folder = Path(tempfile.mkdtemp(dir=self._folder.path, prefix="artefact-"))
        build(folder)
        return folder / name

    def _make(
        self, task: str, case: Mapping[str, Any], attempt: _Attempt, made: Mapping[str, Path]
    ) -> dict[str, Any]:
        request = {**task_named(task).request, "cores": list(attempt.cores), "case": case}
        return self._times.run(request, attempt.order.timeout_s, made=made)

    def _report_losses(self, _: None) -> None:
        """Say what this machine refuses, and what that costs in exactness."""
        self._times.warm_up()  # what it finds and makes is what the other one is given
        self._counts.warm_up()
        if not without_aslr():
            self._notice(
                "Address randomisation cannot be turned off here (setarch -R is refused): "
                "counts may differ from run to run, mostly by less than 0.1%."
            )
        if self._processes.links is None:
            self._notice(
                f'Build "{self._facts.build.name}" cannot be started through links: its counts may '
                "differ from those of a copy at another path, mostly by less than 1%."
            )
        if not self._counts.ready.get("holds_caches", True):
            self._notice(
                "The caches of this interpreter "
                f"({self._facts.fingerprint.implementation} {self._facts.fingerprint.python}) "
                "cannot be held still: counts of Python cases may differ between builds, and "
                "between memory layouts, by up to 4% without any change."
            )
        if self._counting.allocator_name != self._profile.allocator:
            self._notice(
                "The steady allocator could not be preloaded, so the C library's is counted: "
                "counts may differ between memory layouts by some percent, "
                "and allocations are not counted."
            )


def _warm_up(server: Server) -> None:
    try:
        server.warm_up()
    except (ServerStartError, WorkerError, OSError):
        return  # reported to the first lane that needs the server


_REPAIR = "Repair the C compiler, or name another one with CC."


def _make(facts: BuildFacts, profile: Profile, notice: Notice) -> ForkEngine:
    compiler = Compiler(facts, Cache())
    if facts.lacks_cuda_libraries:
        profile = attrs.evolve(profile, device=CUDA)
    try:
        return ForkEngine(facts, compiler, profile, notice)
    except CompileError as error:
        remedy = f"{error.remedy or _REPAIR}     or, about 100 times slower:  --engine timer"
        if not Path(facts.valgrind_headers, "callgrind.h").exists():
            remedy = "Install a complete PyTorch: this one lacks torch/utils/benchmark, or a part."
        raise BuildError(
            f'build "{facts.build.name}": the fork engine needs a library that cannot be compiled: '
            f"{error}",
            remedy,
        ) from error


def _measure_in_turns(
    base: Engine, new: Engine, order: WorkOrder, cores: tuple[int, ...], folder: Path
) -> Outcome:
    sides = cast("ForkEngine", base), cast("ForkEngine", new)  # as the entry made them
    assert order.beside is not None, "asked of orders that name the other build"
    builds = order.beside.name, order.build.name
    places = folder / "base.socket", folder / "new.socket"
    opened = [
        partial(side.blocks, order, cores, place) for side, place in zip(sides, places, strict=True)
    ]

    def measure() -> Outcome:
        seed, surroundings = secrets.randbits(32), Surroundings(cores)
        return Outcome(Status.OK, paired=time_in_turns(builds, opened, surroundings, seed=seed))

    return sides[1].outcome_of(measure)


ENTRY = EngineEntry(
    *("fork", "one import of torch for many cases", True, _make, _measure_in_turns),
    has_stand_ins=True,
)
