"""The fork engine: two servers with torch imported, a forked child for each measurement.

One server runs natively and takes wall times, one runs under Callgrind and counts. C++ cases are
compiled once, and their shared object serves both. See ``docs/measurement.md``.
"""

from __future__ import annotations

import shutil
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import attrs

from core.types import Case, Language
from instruction_counts.builds.fingerprint import BuildFacts, Fingerprint
from instruction_counts.builds.hermetic import STEADY_GLIBC, environment, without_aslr
from instruction_counts.engines import counting
from instruction_counts.engines.callgrind_out import CallgrindFormatError
from instruction_counts.engines.compiler import CompileError, Compiler, CppSource
from instruction_counts.engines.engine import case_message
from instruction_counts.engines.fork_server import ForkServer, ServerStartError
from instruction_counts.engines.timer import TimerEngine
from instruction_counts.execution.work import WorkOrder
from instruction_counts.measurements import (
    Failure,
    FailureKind,
    Instructions,
    Outcome,
    Status,
    Times,
)
from instruction_counts.process import WORKER, WorkerError, WorkerProcess

_EMPTY_LOOP = {
    Language.PYTHON: "pass",
    # Without this the compiler drops the loop; with it, it is the loop that every case has.
    Language.CPP: 'asm volatile("" ::: "memory");',
}


@attrs.frozen
class Profile:
    """What the hermetic profile leaves to choose.

    ``layout`` perturbs the memory layout on purpose: another hash seed, another environment size.
    """

    allocator: str = "steady"
    pinned_isa: str = ""
    layout: int = 0
    min_run_time_s: float = 0.2


class ForkEngine:
    """Measures in forked children; falls back to the reference engine where that cannot work."""

    def __init__(
        self,
        facts: BuildFacts,
        compiler: Compiler,
        profile: Profile,
        notice: Callable[[str], None],
    ) -> None:
        self._facts, self._compiler, self._profile = facts, compiler, profile
        self._notice = notice
        self._folder = Path(tempfile.mkdtemp(prefix="instruction-counts-"))
        self._shim = compiler.shim()
        self._times = ForkServer(self._start_native, _serve("times"))
        self._counts = ForkServer(self._start_counting, _serve("counts"))
        self._loops = _Once(self._measure_loop)
        self._models = _Once(self._make_model)
        self._fallback: TimerEngine | None = None
        self._lock = threading.Lock()

    def measure(self, order: WorkOrder, cores: tuple[int, ...], folder: Path) -> Outcome:
        """Measure one case in children of both servers."""
        if self._fallback is not None:
            return self._fallback.measure(order, cores, folder)
        try:
            return self._measure(order, cores, folder)
        except (WorkerError, CompileError) as error:
            return Outcome.failed(error.failure)
        except (CallgrindFormatError, OSError) as error:
            return Outcome.failed(Failure(FailureKind.EXIT, f"no usable Callgrind dump: {error}"))
        except ServerStartError as error:
            return self._fall_back(str(error)).measure(order, cores, folder)

    def close(self) -> None:
        """Kill servers, children and compilers, and remove their files."""
        self._times.close()
        self._counts.close()
        self._compiler.close()
        if self._fallback is not None:
            self._fallback.close()
        shutil.rmtree(self._folder, ignore_errors=True)

    @property
    def fingerprint(self) -> Fingerprint:
        """The build's own, with the allocator and the instruction set that are counted."""
        if self._fallback is not None:
            return self._fallback.fingerprint
        return attrs.evolve(
            self._facts.fingerprint,
            allocator=self._profile.allocator,
            pinned_isa=self._profile.pinned_isa,
            counted_capability=self._counts.ready.get("capability", ""),
        )

    def start(self, *, counts: bool, times: bool) -> None:
        """Begin to start the servers in the background; who needs one waits for it."""
        for server, wanted in ((self._times, times), (self._counts, counts)):
            if wanted:
                threading.Thread(target=_warm_up, args=(server,), daemon=True).start()

    def _measure(self, order: WorkOrder, cores: tuple[int, ...], folder: Path) -> Outcome:
        task = {"cores": list(cores), "case": self._prepared(order.case, cores, order.timeout_s)}
        times, counted = None, None
        if order.times:
            request = {**task, "task": "times", "min_run_time_s": self._profile.min_run_time_s}
            answer = self._times.run(request, folder, order.timeout_s)["times"]
            times = Times.of(answer["values_s"], answer["runs"])
        if order.counts:
            counted = self._count(task, order, folder)
        return Outcome(
            Status.OK,
            instructions=counted[0] if counted else None,
            times=times,
            functions=counted[1].functions if counted else None,
        )

    def _count(
        self, task: Mapping[str, Any], order: WorkOrder, folder: Path
    ) -> tuple[Instructions, counting.Counted]:
        loop = self._loops.get(order.case.autolabels.language)
        windows = self._windows(task, folder, order.timeout_s)
        counted = counting.evaluate(windows, loop)
        instructions = counted.instructions
        if not instructions.exact:
            instructions = attrs.evolve(instructions, varying=counting.varying(windows))
        _remove_dumps(Path(windows[0]["dump"]))
        return instructions, counted

    def _windows(
        self, task: Mapping[str, Any], folder: Path, timeout_s: float
    ) -> list[dict[str, Any]]:
        request = {
            **task,
            "task": "counts",
            "dumps": str(self._folder / "dumps" / "cg"),
            "pilot_runs": counting.PILOT_RUNS,
            "pattern": counting.PATTERN,
            "schedule": counting.SCHEDULE,
        }
        windows: list[dict[str, Any]] = self._counts.run(request, folder, timeout_s)["windows"]
        return windows

    def _prepared(self, case: Case, cores: tuple[int, ...], timeout_s: float) -> dict[str, Any]:
        message = case_message(case)
        if case.model_source is not None:
            message["model_file"] = str(self._models.get(case.model_source, cores, timeout_s))
        if case.autolabels.language is Language.CPP:
            args = case.timer_args
            source = CppSource(args.global_setup, args.setup, args.stmt)
            message["library"] = str(self._compiler.case(source, cores))
        return message

    def _make_model(self, source: str, cores: tuple[int, ...], timeout_s: float) -> Path:
        folder = Path(tempfile.mkdtemp(dir=self._folder, prefix="model-"))
        path = folder / "model.pt"
        case = {"model_source": source, "model_file": str(path)}
        self._times.run({"task": "script", "cores": list(cores), "case": case}, folder, timeout_s)
        return path

    def _measure_loop(self, language: Language) -> counting.Loop:
        folder = Path(tempfile.mkdtemp(dir=self._folder, prefix="loop-"))
        stmt = _EMPTY_LOOP[language]
        case = {
            "stmt": stmt,
            "setup": "",
            "global_setup": "",
            "num_threads": 1,
            "language": language.value,
        }
        if language is Language.CPP:
            case["library"] = str(self._compiler.case(CppSource("", "", stmt)))
        windows = self._windows({"case": case, "cores": []}, folder, 600.0)
        return counting.per_run_loop(counting.evaluate(windows, counting.Loop()))

    def _fall_back(self, reason: str) -> TimerEngine:
        with self._lock:
            if self._fallback is None:
                self._notice(
                    f"The fork engine cannot work here: {reason}\n"
                    "Going on with the reference engine (--engine timer), about 100 times slower."
                )
                self._fallback = TimerEngine(self._facts)
            return self._fallback

    def _start_native(self) -> WorkerProcess:
        return self._worker("times", {}, ())

    def _start_counting(self) -> WorkerProcess:
        dumps = self._folder / "dumps"
        dumps.mkdir(mode=0o700, exist_ok=True)
        command = (
            "valgrind",
            "--tool=callgrind",
            "--instr-atstart=no",
            "--collect-atstart=yes",
            "--separate-threads=yes",
            "--vgdb=no",
            f"--callgrind-out-file={dumps}/cg.%p",
        )
        return self._worker("counts", self._allocator(), command)

    def _allocator(self) -> dict[str, str]:
        if self._profile.allocator == "system":
            return dict(STEADY_GLIBC)
        # A relative name: the length of the environment must not depend on where the cache is.
        return {"LD_PRELOAD": "./steady.so", "PYTHONMALLOC": "malloc"}

    def _worker(
        self, role: str, extra: Mapping[str, str], command: tuple[str, ...]
    ) -> WorkerProcess:
        # The script and the allocator lie in the working folder under fixed names, so that nothing
        # on the stack of the process depends on where this program is installed.
        folder = Path(tempfile.mkdtemp(dir=self._folder, prefix=f"{role}-"))
        shutil.copy(WORKER, folder / "worker.py")
        shutil.copy(self._shim, folder / "steady.so")
        variables = environment(self._facts.build, {**extra, **self._perturbation()})
        prefix = (*without_aslr(), *command)
        return WorkerProcess(self._facts.interpreter, variables, folder, prefix, "worker.py")

    def _perturbation(self) -> dict[str, str]:
        variables = {}
        if self._profile.pinned_isa:
            variables["ATEN_CPU_CAPABILITY"] = self._profile.pinned_isa
        if self._profile.layout:
            variables["PYTHONHASHSEED"] = str(self._profile.layout)
            variables["INSTRUCTION_COUNTS_LAYOUT"] = "x" * (37 * self._profile.layout)
        return variables


def _serve(role: str) -> dict[str, Any]:
    # By the name under which it is preloaded, or there would be two of it, with counters each.
    return {"type": "serve", "role": role, "shim": "./steady.so"}


class _Once:
    """Makes a value for each key once, whichever lane asks first; the others wait for it."""

    def __init__(self, make: Callable[..., Any]) -> None:
        self._make = make
        self._locks: dict[Any, threading.Lock] = {}
        self._values: dict[Any, Any] = {}
        self._lock = threading.Lock()

    def get(self, key: Any, *args: Any) -> Any:
        """The value of ``key``, made by ``make(key, *args)``."""
        with self._lock:
            lock = self._locks.setdefault(key, threading.Lock())
        with lock:
            if key not in self._values:
                self._values[key] = self._make(key, *args)
            return self._values[key]


def _remove_dumps(dump: Path) -> None:
    """Remove all that Callgrind wrote for the process of ``dump`` (``cg.PID.NUMBER``)."""
    process = dump.stem
    for pattern in (process, f"{process}-*", f"{process}.*"):
        for path in dump.parent.glob(pattern):
            path.unlink(missing_ok=True)


def _warm_up(server: ForkServer) -> None:
    try:
        server.warm_up()
    except (ServerStartError, OSError):
        return  # told to the first lane that needs the server
