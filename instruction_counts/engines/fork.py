"""The fork engine: two servers with torch imported, a forked child for each measurement.

One server runs natively and takes wall times, one runs under Callgrind and counts. C++ cases are
compiled once, and their shared object serves both. See ``docs/explanation/measurement.md``.
"""

import contextlib
import secrets
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import attrs

from instruction_counts.builds.cuda.stand_ins import StandIns
from instruction_counts.builds.hermetic import without_aslr
from instruction_counts.builds.probing import BuildFacts, made_for
from instruction_counts.core.api import TORCH
from instruction_counts.core.labels import CPU, CUDA
from instruction_counts.core.runtimes import runtime_of
from instruction_counts.core.types import Language
from instruction_counts.domain.build import Fingerprint
from instruction_counts.domain.errors import BuildError
from instruction_counts.domain.metrics import LEFT_RUNNING, Amounts
from instruction_counts.domain.outcomes import Failure, FailureKind, Outcome, Status
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.callgrind import CallgrindFormatError
from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.cpp.process import CompileError
from instruction_counts.engines.cpp.source import CppSource
from instruction_counts.engines.engine import Engine, EngineEntry, Lend, Notice, Profile
from instruction_counts.engines.fork_cases import Attempt, CaseTasks, Servers
from instruction_counts.engines.fork_counts import Once
from instruction_counts.engines.fork_files import CaseFiles
from instruction_counts.engines.fork_processes import COUNTS, CYCLES, TIMES, ForkProcesses, Which
from instruction_counts.engines.fork_server import ServerStartError
from instruction_counts.engines.turns import Blocks, opened_blocks, time_in_turns
from instruction_counts.engines.warm.channel import keep_s
from instruction_counts.engines.warm.client import Server, WarmServers
from instruction_counts.system.cache import Cache
from instruction_counts.system.folders import WorkFolder
from instruction_counts.system.steadiness import Surroundings
from instruction_counts.system.worker_process import WorkerError
from instruction_counts.system.worker_tasks import has_others


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
        said: Once | None = None,
    ) -> None:
        self._facts, self._compiler, self._profile = facts, compiler, profile
        self._notice, self._own = notice, needs or _Needs(profile.device)
        self._others: dict[_Needs, ForkEngine] = {}
        self._making_others = threading.Lock()
        self._is_closed = False
        self.stand_ins, cuda = StandIns(), facts.cuda
        if profile.device == CUDA and cuda is not None:
            folder = Path(facts.torch_root) / "lib"
            self.stand_ins = made_for(facts.build, folder, cuda, compiler.cache)
        libraries = (compiler.native("steady"), compiler.native("fresh"), *self.stand_ins.paths)
        with contextlib.ExitStack() as undo:
            self._folder = WorkFolder()
            undo.callback(self._folder.remove)
            self._processes = ForkProcesses(facts, profile, self._folder.path, libraries)
            self._servers = Servers(*map(self._server_maker(libraries), (TIMES, COUNTS, CYCLES)))
            undo.pop_all()
        # What another engine of the build said of a case is not said again.
        self._said = said or Once(notice)
        self._losses = Once(self._report_losses)
        self.files = CaseFiles(
            facts, compiler, self._servers.times, self._folder.path, self._own.prepared_by
        )
        self._cases = CaseTasks(
            *(facts, compiler, profile, self._servers, self.files, self._said.get),
            before_counts=lambda: self._losses.get(None),
        )
        self._starting: list[threading.Thread] = []
        self._start_failure: Failure | None = None

    def _server_maker(self, libraries: Sequence[Path]) -> Callable[[str], Server]:
        """What makes a server of a role: one of this engine, or one that others can use, too."""
        profile, notice, own = self._profile, self._notice, self._own
        which = partial(Which, prepared_by=own.prepared_by, imports=own.imports)
        # Servers that others start would not have tasks that were registered here.
        is_usual = profile.keeps_servers and not profile.layout and not has_others()
        # Without torch a server starts quickly.
        kept_s = keep_s() if is_usual and {*TORCH} <= {*own.imports} else 0.0
        if kept_s:
            try:
                warm = WarmServers(self._facts, profile, libraries, kept_s, notice)
                warm.attend()
            except (OSError, subprocess.SubprocessError) as error:
                notice(f"Servers cannot be kept for the next command: {error}")
            else:
                return lambda role: warm.server(which(role))
        return lambda role: self._processes.server(which(role), notice)

    @property
    def can_count(self) -> bool:
        """Whether the counting server is ready."""
        return self._servers.counts.is_ready

    def check(self, orders: Sequence[WorkOrder]) -> None:
        """Start Callgrind as the counting server will, without torch: it takes a second.

        A process that crashes there is none of ours: its cases fail, and say so.

        Raises:
            BuildError: it does not start, and ``orders`` ask for counts; or what cases of another
                device need cannot be made.
        """
        for engine in (self, *self._others.values()):
            engine.files.forget_artefacts()
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

    def measure(self, order: WorkOrder, cores: tuple[int, ...], folder: Path) -> Outcome:
        """Measure one case in children of both servers."""
        needs = self._needs_of(order)
        if needs != self._own:
            return self._other(needs).measure(order, cores, folder)
        attempt = Attempt(order, cores)
        outcome = self.outcome_of(lambda: self._cases.measure(attempt))
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
        attempt = Attempt(order, cores)
        try:
            self._servers.times.warm_up()
        except ServerStartError as error:  # the other build's may start
            title = f'the server of build "{self._facts.build.name}"'
            self._start_failure = Failure(FailureKind.REFUSED, f"{title} does not start: {error}")
            raise WorkerError(self._start_failure) from error
        attempt.files = self.files.of(order, cores)

        def run(place: Path) -> None:
            attempt.run(self._servers.times, {"task": "blocks", "socket": str(place)})

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
                own = self._facts, self._compiler, profile, self._notice
                self._others[needs] = ForkEngine(*own, needs, self._said)
                if self._is_closed:
                    self._others[needs].close()
            return self._others[needs]

    def close(self) -> None:
        """Kill servers, children and compilers, and remove their files."""
        self._is_closed = True
        servers = self._servers.cycles, self._servers.counts, self._servers.times
        # Each, also where an interrupt cuts another short.
        with contextlib.ExitStack() as stack:
            stack.callback(self._folder.remove)
            for part in (*self._others.values(), *servers, self._cases, self._compiler):
                stack.callback(part.close)

    @property
    def fingerprint(self) -> Fingerprint:
        """The build's own, with what is known of the server that counts."""
        others = list(self._others.values())  # more may come meanwhile
        if others and not self._servers.counts.ready:
            return others[0].fingerprint
        made = [self.stand_ins, *(other.stand_ins for other in others)]
        holds = self._servers.counts.ready.get("holds_caches")
        return attrs.evolve(
            self._facts.fingerprint,
            allocator=self._cases.counting.allocator_name,
            pinned_isa=self._profile.pinned_isa,
            counted_capability=self._servers.counts.ready.get("capability", ""),
            caches="" if holds is None else "held" if holds else "not held",
            stand_ins=next((found.identity for found in made if found.paths), ""),
        )

    def start(self, orders: Sequence[WorkOrder], lend: Lend) -> None:
        """Begin to start the servers in the background, the counting one on a core of its own."""
        others = [order for order in orders if self._needs_of(order) != self._own]
        orders = [order for order in orders if order not in others]
        counts, cycles = self._servers.counts, self._servers.cycles
        if any(order.times for order in orders):
            self._begin(_warm_up, self._servers.times)
        if any(order.counts for order in orders) and not counts.is_ready:
            self._begin(self._start_counting, counts, lend)
        if any(order.asks_for_cycles for order in orders) and not cycles.is_ready:
            self._begin(self._start_counting, cycles, lend)
        if others:
            self._begin(self._start_others, others, lend)
        sources = [
            CppSource.of(order.case)
            for order in orders
            if order.case.autolabels.language is Language.CPP and not order.refusal
        ]
        if sources:  # nobody waits for all of it
            ahead = partial(self._compiler.compile_ahead, sources, lend)
            threading.Thread(target=ahead, daemon=True).start()

    def _begin(self, target: Callable[..., None], *arguments: object) -> None:
        thread = threading.Thread(target=target, args=arguments, daemon=True)
        thread.start()
        self._starting.append(thread)

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
                # What it finds and makes is what the other one is given.
                _warm_up(self._servers.times)
                _warm_up(server)

    def wait(self) -> None:
        """Wait for the servers that `start` began to start."""
        for thread in self._starting:
            thread.join()

    def _report_losses(self, _: None) -> None:
        """Say what this machine refuses, and what that costs in exactness."""
        self._servers.times.warm_up()  # what it finds and makes is what the other one is given
        self._servers.counts.warm_up()
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
        if not self._servers.counts.ready.get("holds_caches", True):
            self._notice(
                "The caches of this interpreter "
                f"({self._facts.fingerprint.implementation} {self._facts.fingerprint.python}) "
                "cannot be held still: counts of Python cases may differ between builds, and "
                "between memory layouts, by up to 4% without any change."
            )
        if self._cases.counting.allocator_name != self._profile.allocator:
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
