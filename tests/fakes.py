"""Stand-ins that implement the real protocols, and short ways to make the values of a run."""

import itertools
import stat
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from instruction_counts.builds.compilers import CppCompiler
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.cli.output import Destination, Exporter
from instruction_counts.core.api import TimerArgs
from instruction_counts.core.labels import AutogradMode, AutoLabels, Label, Language, RuntimeMode
from instruction_counts.core.types import Case
from instruction_counts.domain.build import Build, Fingerprint
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
from instruction_counts.domain.paired import PairedTimes, Stopped
from instruction_counts.domain.records import Record, Run
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Engine, Lend

BUILD = Build("default", "/nowhere/bin/python")
FINGERPRINT = Fingerprint(
    torch="2.13.0+cpu",
    torch_git="cf30153c",
    torch_debug=False,
    torch_settings="BUILD_TYPE=Release",
    cxx11_abi=True,
    parallel="OpenMP",
    capability="AVX2",
    python="3.11.7",
    implementation="CPython",
    machine="x86_64",
    cpu="A Processor",
    libc="glibc-2.36",
    valgrind="valgrind-3.19.0",
    compiler="g++ 12.2.0",
    aslr_off=True,
    profile_version=1,
    tool_version="0.1.0",
)
FACTS = BuildFacts(
    build=BUILD,
    interpreter="/nowhere/bin/python",
    fingerprint=FINGERPRINT,
    compiler=CppCompiler("/usr/bin/g++", FINGERPRINT.compiler),
    torch_root="/nowhere/torch",
    include_paths=(),
    library_paths=(),
    has_cpp_headers=True,
    valgrind_headers="",
)
OK = Outcome(
    Status.OK,
    instructions=Instructions(8899, exact=True, windows=(Window(100, 889_900),)),
    times=Times.of([2.1e-6, 2.2e-6, 2.4e-6], 1000),
    functions=FunctionCosts(
        100, (FunctionCost("libtorch.so", "add.cpp", "at::add", 889_900, 889_900),)
    ),
)


def paired_times(ratios: tuple[float, ...], base_s: float = 1e-6) -> PairedTimes:
    """Times of two builds in turns: a round for each ratio of new to base."""
    return PairedTimes(
        base="base",
        new="new",
        runs=1000,
        ratios=ratios,
        base_s=(base_s,) * len(ratios),
        new_s=tuple(base_s * ratio for ratio in ratios),
        seed=1,
        pairs=9 * len(ratios),
        stopped=Stopped.NARROW,
    )


def failed(kind: FailureKind = FailureKind.EXCEPTION, message: str = "ValueError: bad") -> Outcome:
    """An outcome that failed."""
    return Outcome.failed(Failure(kind, message, "x + y", "stmt line 1"))


def make_case(
    *label: str,
    language: Language = Language.PYTHON,
    runtime: RuntimeMode = RuntimeMode.EAGER,
    autograd: AutogradMode = AutogradMode.FORWARD,
    num_threads: int = 1,
    stmt: str = "x + y",
    metadata: Mapping[str, Any] | None = None,
) -> Case:
    """A case at ``label``."""
    args = TimerArgs(stmt, "x = y = 1", num_threads=num_threads, language=language)
    labels = AutoLabels(runtime, autograd, language)
    return Case(label or ("add",), labels, args, metadata=metadata or {})


def make_order(*label: str, num_threads: int = 1, **limits: Any) -> WorkOrder:
    """A work order for the case at ``label``."""
    return WorkOrder(make_case(*label, num_threads=num_threads), BUILD, **limits)


def make_orders(count: int, **limits: Any) -> list[WorkOrder]:
    """Orders for ``count`` cases of one thread each."""
    return [make_order("case", str(number), **limits) for number in range(count)]


def make_record(
    *label: str, outcome: Outcome = OK, build: str = BUILD.name, **modes: Any
) -> Record:
    """The record of a finished case."""
    return Record.of(make_case(*label, **modes), build, outcome)


def make_run(*records: Record, builds: Iterable[str] = (BUILD.name,)) -> Run:
    """A run with ``records``."""
    return Run("0.1.0", "timer", dict.fromkeys(builds, FINGERPRINT), records)


class FakeClock:
    """A clock that moves by ``step`` seconds with each look at it."""

    def __init__(self, step: float = 1.0) -> None:
        self._ticks = itertools.count()
        self._step = step

    def __call__(self) -> float:
        """The time."""
        return next(self._ticks) * self._step


@attrs.frozen
class Call:
    """What an engine was asked for, and the folder as it found it."""

    order: WorkOrder
    cores: tuple[int, ...]
    folder: Path
    folder_mode: int
    folder_content: tuple[Path, ...]


Answer: TypeAlias = Outcome | BaseException


class FakeEngine(Engine):
    """An engine that answers from a script, and remembers what it was asked for.

    ``script`` holds the answers by label, first to last; the last one repeats, an exception is
    raised, and cases that it does not name succeed. ``during`` is called while a case is measured.
    """

    def __init__(
        self,
        script: Mapping[Label, Sequence[Answer]] | None = None,
        during: Callable[[WorkOrder], object] = lambda _: None,
    ) -> None:
        self._script = {label: list(answers) for label, answers in (script or {}).items()}
        self._during = during
        self._lock = threading.Lock()
        self.calls: list[Call] = []
        self.started: list[tuple[list[WorkOrder], tuple[int, ...]]] = []
        self.waited = threading.Event()
        self.closed = threading.Event()

    def measure(self, order: WorkOrder, cores: tuple[int, ...], folder: Path) -> Outcome:
        """Answer from the script."""
        mode = stat.S_IMODE(folder.stat().st_mode)
        call = Call(order, cores, folder, mode, tuple(folder.iterdir()))
        with self._lock:
            self.calls.append(call)
            answers = self._script.get(order.case.label, [OK])
            answer = answers.pop(0) if len(answers) > 1 else answers[0]
        (folder / "left behind").touch()
        self._during(order)
        if isinstance(answer, BaseException):
            raise answer
        return answer

    @property
    def fingerprint(self) -> Fingerprint:
        """The same for every engine."""
        return FINGERPRINT

    def start(self, orders: Sequence[WorkOrder], lend: Lend) -> None:
        """Remember what is to be measured, and where it got ready."""
        with lend(self.closed.is_set) as cores:
            self.started.append((list(orders), cores))

    def wait(self) -> None:
        """Nothing starts."""
        self.waited.set()

    def close(self) -> None:
        """Let hanging cases go."""
        self.closed.set()


def exporter_to(path: Path, clock: Callable[[], float] | None = None) -> Exporter:
    """What writes a run to that file while it grows."""
    return Exporter(Destination.of(path), clock or FakeClock())
