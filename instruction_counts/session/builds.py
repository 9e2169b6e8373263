"""Measuring cases on builds: the one sequence from probing builds to a run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import attrs

from instruction_counts.builds.compilers import TORCHS_OWN
from instruction_counts.builds.files import written_after
from instruction_counts.builds.lock_files import is_made
from instruction_counts.builds.missing import missing, runtime_refusal
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.cluster.lanes import lanes_of
from instruction_counts.core.facts import Operator
from instruction_counts.core.labels import ONCE
from instruction_counts.core.types import Case, Language
from instruction_counts.domain.build import DEFAULT_NAME, Build, Fingerprint
from instruction_counts.domain.errors import BuildError, DataError, UsageError
from instruction_counts.domain.metrics import CYCLES, HARDWARE, RESOURCES
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import ChangedFiles, Record, Run
from instruction_counts.domain.shards import MeasuredShard
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Notice, Profile
from instruction_counts.engines.machine import Machine
from instruction_counts.engines.registry import DEFAULT, engine_named, require_profile
from instruction_counts.execution.events import Finished, Observer, Silent
from instruction_counts.execution.lanes import Lanes, Opening
from instruction_counts.execution.local_lanes import DEFAULT as DEFAULT_LANES
from instruction_counts.session.devices import (
    NO_CUDA_TIMES,
    cuda_refusal,
    has_gpu,
    is_on_cuda,
    on_cuda,
)
from instruction_counts.session.measuring import (
    Exporter,
    Measured,
    MeasuredRun,
    carried_out,
    remaining,
)
from instruction_counts.system.cache import Cache
from instruction_counts.system.folders import sweep

if TYPE_CHECKING:  # it takes a fifth of the start of a command, and some store nothing
    from instruction_counts.storage.store import Store

METRICS = (CYCLES.name, HARDWARE, RESOURCES)
"""What can be asked for beside counts and times."""
_TIMEOUT_S = 600.0


@attrs.frozen
class MeasurementSettings:
    """How cases are measured, on whatever build."""

    engine: str = DEFAULT
    """One of those that are registered."""
    allocator: str = "steady"
    """``steady`` or ``system``."""
    pin_isa: str | None = None
    """The instruction set for times and counts alike: ``avx2``, ``default``."""
    jobs: int | None = None
    """How many lanes; None is one for each core."""
    cores: str | None = None
    """The cores to use, such as ``0-1,3``; None is all that are available."""
    timeout_s: float | None = None
    """The limit for each step of a case; None is the usual one, ten minutes."""
    retries: int = 1
    counts: bool = True
    times: bool = True
    metrics: tuple[str, ...] = ()
    """What is measured beside counts, times and what comes with them: of `METRICS`."""
    machine: Machine | None = None
    """Whose caches are simulated for estimated cycles; None: those of the packaged file."""
    keeps_servers: bool = True
    """Whether servers may be those of an earlier command, and outlive this one."""
    compiler: str = ""
    """What compiles the C++ of builds that name no compiler: ``clang``, ``g++`` or a path."""
    lanes: str = DEFAULT_LANES
    """Where cases are measured: a kind of lanes, or Dask's scheduler; see `lanes_of`."""

    def __attrs_post_init__(self) -> None:
        """Refuse values that mean nothing, and metrics that the engine cannot take."""
        for name, fits, expected in (
            ("allocator", self.allocator in {"steady", "system"}, "steady or system"),
            ("pin_isa", self.pin_isa in {None, "avx2", "default"}, "avx2, default or None"),
            ("jobs", self.jobs is None or self.jobs >= 1, "at least 1, or None"),
            ("timeout_s", self.timeout_s is None or self.timeout_s > 0, "more than 0, or None"),
            ("retries", self.retries >= 0, "at least 0"),
        ):
            if not fits:
                raise UsageError(f"{name}={getattr(self, name)!r}", f"Expected: {expected}.")
        unknown = next((name for name in self.metrics if name not in METRICS), None)
        if unknown is not None:
            raise UsageError(
                f'"{unknown}" is no metric to ask for', f"Known: {', '.join(METRICS)}."
            )
        if self.metrics:
            require_profile(self.engine, f"--metrics {self.metrics[0]}")

    @property
    def times_in_turns(self) -> bool:
        """Whether times are asked for, and the engine can take those of two builds in turns."""
        return self.times and engine_named(self.engine).measure_in_turns is not None

    def probe(self, build: Build, notice: Notice = lambda _: None) -> BuildFacts:
        """What a build is, where it will be measured; ``notice`` hears what takes minutes.

        Raises:
            BuildError: it cannot be used.
        """
        if build.lock and (self.lanes != DEFAULT_LANES or not is_made(build)):
            notice(
                f"{build.name}: an environment is made of its lock file where there is none yet, "
                "which takes minutes"
            )
        # Torch's Timer compiles as torch's extensions do, with flags that are made for these.
        usual = "" if engine_named(self.engine).follows_profile else TORCHS_OWN
        chosen = attrs.evolve(build, compiler=build.compiler or self.compiler or usual)
        return lanes_of(self.lanes).probe(chosen, self.timeout_s or _TIMEOUT_S)

    def order(self, case: Case, build: Build, **kwargs: Any) -> WorkOrder:
        """The order to measure ``case`` on ``build``, within the limits."""
        return WorkOrder(case, build, self.timeout_s or _TIMEOUT_S, self.retries, **kwargs)

    def fingerprint(self, facts: BuildFacts) -> Fingerprint:
        """The fingerprint that the counts of a build will have, before it is measured."""
        has_allocators = engine_named(self.engine).follows_profile
        return attrs.evolve(
            facts.fingerprint,
            allocator=self.allocator if has_allocators else "system",
            pinned_isa=self.pin_isa or "",
        )


@attrs.frozen
class BuildRunner:
    """Builds that were probed, and how to measure cases on them."""

    facts: tuple[BuildFacts, ...]
    settings: MeasurementSettings
    observer: Observer = attrs.field(factory=Silent)
    recorder: Store | None = None
    """Where each run is stored; None stores nothing."""
    kept: Lanes | None = None
    """Lanes that stay open, see `keeping`; None opens lanes for each measurement."""
    in_order: bool = True
    """See `Run`."""

    @classmethod
    def of(
        cls,
        builds: Iterable[Build],
        settings: MeasurementSettings,
        observer: Observer,
        recorder: Store | None = None,
        *,
        in_order: bool = True,
    ) -> Self:
        """Probe ``builds``; what killed runs left behind is removed first.

        Raises:
            BuildError: one cannot be used.
        """
        sweep()
        facts = tuple(settings.probe(build, observer.note) for build in builds)
        return cls(facts, settings, observer, recorder, in_order=in_order)

    @property
    def names(self) -> tuple[str, ...]:
        """What the builds are called."""
        return tuple(facts.build.name for facts in self.facts)

    def amend(self, run_id: int | None, records: Iterable[Record], what: str) -> None:
        """Store what is known by now of records of a run, where it is stored; ``what`` that is."""
        if self.recorder is None or run_id is None:
            return
        try:
            self.recorder.amend(run_id, records)
        except UsageError as error:
            self.observer.error(f"{what} not stored: {error}")

    def orders(
        self, cases: Sequence[Case], *, skip: bool = False, of_operators: bool = False
    ) -> list[WorkOrder]:
        """The orders of all builds: each case on one after the other, then the next case.

        With ``skip``, what a build cannot do is refused instead of an error. ``of_operators``
        measures the resources of operators, also unasked.

        Raises:
            BuildError: a build is missing something that the cases need, and ``skip`` is not set.
        """
        settings = self.settings
        lacks_times = any(map(is_on_cuda, cases)) and not all(map(has_gpu, self.facts))
        if settings.times and settings.counts and lacks_times:
            self.observer.note(NO_CUDA_TIMES)
        plans = (self._plan(facts, cases, skip, of_operators) for facts in self.facts)
        return [order for row in zip(*plans, strict=True) for order in row]

    def _plan(
        self, facts: BuildFacts, cases: Sequence[Case], skip: bool, of_operators: bool
    ) -> Iterator[WorkOrder]:
        settings, build = self.settings, facts.build
        lacks = tuple(missing(facts))
        for case in cases:
            order = settings.order(
                *(case, build),
                counts=settings.counts,
                times=settings.times,
                output=case.autolabels.language is Language.PYTHON,
                executed=settings.counts or case.timer_args.kind == ONCE,
                cycles=CYCLES.name in settings.metrics,
                hardware=HARDWARE in settings.metrics,
                resources=RESOURCES in settings.metrics
                or (of_operators and isinstance(case.subject, Operator)),
            )
            for requirement in lacks:
                if requirement.affects(order):
                    if not skip:
                        raise BuildError(requirement.what, requirement.remedy)
                    order = requirement.reduced(order)
            refusal = order.refusal or runtime_refusal(facts, case)
            if is_on_cuda(case):
                refusal = refusal or cuda_refusal(facts, order, settings.engine)
                order = on_cuda(facts, order)
            yield attrs.evolve(order, refusal=refusal)

    def run(
        self,
        orders: Sequence[WorkOrder],
        exporters: Collection[Exporter] = (),
        done: Run | None = None,
        time_budget_s: float | None = None,
        callgrind_out: Path | None = None,
        shard: MeasuredShard | None = None,
    ) -> MeasuredRun:
        """Measure ``orders``; the run is stored and exported while it grows.

        ``done`` is a run to go on from. Where orders ask for resources and times, it is measured
        first what the machine can do. ``callgrind_out`` is a folder for Callgrind's raw files, and
        is made. ``shard`` is what part of a whole the orders are.

        Raises:
            BuildError: an engine cannot start; nothing was measured.
            DataError: ``done`` was measured by another engine, on another build or other files of
                it, or is another shard.
            UsageError: the budget of time was used up before the first case started.
        """
        if done is not None:
            for facts in self.facts:
                if why := other_files(facts, done):
                    remedy = "Measure again without --resume, or name the same build."
                    raise DataError(f"--resume: {why}", remedy)
        waiting = remaining(orders, done)
        if callgrind_out is not None:
            callgrind_out.mkdir(parents=True, exist_ok=True)
        with self.lanes(callgrind_out=callgrind_out) as lanes:
            for facts in self.facts:
                self.observer.note(banner(facts, self.settings.engine, lanes.number))
            lanes.check(waiting)
            asks = any(order.asks_for_resources and order.times for order in waiting)
            measured = Measured(
                *(self.settings.engine, lanes, exporters, self.observer, self.recorder),
                durations=Cache().root / "durations.json",
                machine=lanes.machine() if asks else None,
                budget_s=time_budget_s,
                folders={facts.build.name: facts.package_folder for facts in self.facts},
                shard=shard,
                in_order=self.in_order,
            )
            found = measured.execute(orders, done)
        for name, files in found.run.changed_files.items():
            self.observer.error(
                f'Files of build "{name}" changed during the run, and results may be of other '
                f"code: {files.summary}\n"
                "  Measure again; a statement must not write into the build."
            )
        outcomes = [case.outcome for case in found.run.cases]
        budget = next(filter(None, (outcome.skipped_by_budget for outcome in outcomes)), "")
        if budget and all(outcome.status is Status.SKIPPED for outcome in outcomes):
            # Else a run that measured nothing would be taken for one that found nothing.
            raise UsageError(
                f"no case was measured within the time budget of {budget}",
                "The servers of a build take about 20 s to start. Give more.",
            )
        return found

    @contextlib.contextmanager
    def keeping(self) -> Iterator[Self]:
        """The same, on lanes that stay open until the end: for what measures several times.

        Raises:
            BuildError: an engine cannot start.
            UsageError: there are no such lanes.
        """
        with self.lanes() as lanes:
            yield attrs.evolve(self, kept=lanes)

    @contextlib.contextmanager
    def lanes(self, *, layout: int = 0, callgrind_out: Path | None = None) -> Iterator[Lanes]:
        """Lanes for these builds, in a memory layout: those that are kept, where they do.

        Raises:
            BuildError, UsageError: see `keeping`.
        """
        if self.kept is not None and not layout and callgrind_out is None:
            yield self.kept
            return
        settings = self.settings
        profile = Profile(
            *(settings.allocator, settings.pin_isa or "", layout),
            keeps_servers=settings.keeps_servers,
            machine=settings.machine,
            callgrind_out=callgrind_out,
        )
        asked = Opening(
            *(settings.engine, self.facts, profile, settings.jobs, settings.cores),
            self.observer.note,
        )
        with contextlib.closing(lanes_of(settings.lanes).open(asked)) as lanes:
            yield lanes

    def carried_out(
        self, orders: Iterable[WorkOrder], *, layout: int = 0, **limits: Any
    ) -> Iterator[Finished]:
        """What becomes of ``orders`` beside a run, in a memory layout; see `carried_out`."""
        with (
            self.lanes(layout=layout) as lanes,
            contextlib.closing(carried_out(orders, lanes, self.observer, **limits)) as events,
        ):
            yield from events


RunnerOf: TypeAlias = Callable[..., BuildRunner]
"""Makes a runner of what `BuildRunner.of` does, perhaps one that is there."""


def banner(facts: BuildFacts, engine: str, lanes: int) -> str:
    """One line that says what is measured, and how."""
    fingerprint = facts.fingerprint
    name = "" if facts.build.name == DEFAULT_NAME else f"{facts.build.name}: "
    return (
        f"{name}torch {fingerprint.torch} · Python {fingerprint.python} · "
        f"{fingerprint.valgrind or 'no valgrind'} · {lanes} worker{'' if lanes == 1 else 's'}"
        f"{'' if engine == DEFAULT else f' · engine {engine}'}"
    )


def other_files(facts: BuildFacts, done: Run) -> str:
    """Why a run may be of other code than its build has now; empty where nothing says so.

    Two copies of one version of torch have one fingerprint.
    """
    name, folder = facts.build.name, facts.package_folder
    before = done.package_folders.get(name, folder)
    if before != folder:
        return f'it was measured with {before}, and build "{name}" has {folder}'
    if done.started_at and (written := written_after(facts.files, done.started_at)):
        files = ChangedFiles.of(written).summary
        return f'files of build "{name}" were written since it was begun: {files}'
    return ""
