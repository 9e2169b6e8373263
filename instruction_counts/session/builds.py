"""Measuring cases on builds: the one sequence from probing builds to a run."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias

import attrs

from core.types import Case, CaseKey
from instruction_counts.builds.inquiry import measure_machine
from instruction_counts.builds.probing import BuildFacts, probe
from instruction_counts.domain.build import DEFAULT_NAME, Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.fingerprint import Fingerprint
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import Machine, Status
from instruction_counts.domain.records import ChangedFiles, Complete, Record, Run, as_it_is
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Engine
from instruction_counts.engines.entry import Ability, Profile
from instruction_counts.engines.registry import DEFAULT, engine_named
from instruction_counts.execution.budget import Budget
from instruction_counts.execution.cores import CorePool, available_cores, machine_wide, parse_cores
from instruction_counts.session.measuring import (
    DURATIONS,
    Exporter,
    Measured,
    make_engine,
    plan,
    remaining,
)
from instruction_counts.session.observer import Observer, Silent
from instruction_counts.session.recording import Recorder
from instruction_counts.system.cache import Cache
from instruction_counts.system.work_folders import sweep

_TIMEOUT_S = 600.0

Engines: TypeAlias = Mapping[str, Engine]
"""By the name of the build."""


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

    def pool(self, notice: Callable[[str], None]) -> CorePool:
        """The cores to measure on; ``notice`` learns that another process uses them.

        Raises:
            UsageError: some are not available.
        """
        available = available_cores()
        cores = parse_cores(self.cores, available) if self.cores else available
        return machine_wide(cores, notice)

    def profile(self, callgrind_out: Path | None = None, layout: int = 0) -> Profile:
        """What the hermetic profile leaves to choose."""
        return Profile(self.allocator, self.pin_isa or "", layout, callgrind_out=callgrind_out)

    def order(self, case: Case, build: Build, **kwargs: Any) -> WorkOrder:
        """The order to measure ``case`` on ``build``, within the limits."""
        return WorkOrder(case, build, self.timeout_s or _TIMEOUT_S, self.retries, **kwargs)

    def fingerprint(self, facts: BuildFacts) -> Fingerprint:
        """The fingerprint that the counts of a build will have, before it is measured."""
        return attrs.evolve(
            facts.fingerprint,
            allocator=self.allocator if self._can(Ability.ALLOCATORS) else "system",
            pinned_isa=self.pin_isa or "",
        )

    def _can(self, ability: Ability) -> bool:
        return engine_named(self.engine).can(ability)


@attrs.frozen
class MeasuredRun:
    """A run that was measured, and what became of it."""

    run: Run
    orders: tuple[WorkOrder, ...]
    run_id: int | None = None
    """The number under which it is stored, as far as it is; None where nothing stores it."""
    interrupted: bool = False
    unsaved: frozenset[Exporter] = frozenset()
    """The exporters that could not write the end of the run."""
    is_stored: bool = True
    """Whether the whole run is stored, where it was to be."""

    @property
    def is_sound(self) -> bool:
        """Whether, beside that, every build was the same to the end."""
        return self.is_stored and not self.run.changed_files

    @property
    def ordered(self) -> tuple[Record, ...]:
        """The records of the orders: a resumed run holds whatever else its file held."""
        asked = {(order.build.name, order.case.key) for order in self.orders}
        return tuple(record for record in self.run.cases if record.identity in asked)

    @property
    def has_failed_cases(self) -> bool:
        """Whether a case that was ordered failed or took too long."""
        failed = {Status.FAILED, Status.TIMEOUT}
        return any(record.outcome.status in failed for record in self.ordered)


@attrs.frozen
class BuildRunner:
    """Builds that were probed, and how to measure cases on them."""

    facts: tuple[BuildFacts, ...]
    settings: MeasurementSettings
    observer: Observer = attrs.field(factory=Silent)
    recorder: Recorder | None = None
    """Where each run is stored; None stores nothing."""

    @property
    def completed(self) -> Complete:
        """What gives a record of these runs with its details."""
        return self.recorder.completed if self.recorder is not None else as_it_is

    def store_noises(self, run_id: int | None, build: str, noises: Mapping[CaseKey, Noise]) -> None:
        """Store what moved the cases of a run that was measured, where it is stored."""
        if self.recorder is None or run_id is None:
            return
        try:
            self.recorder.add_noises(run_id, build, noises)
        except UsageError as error:
            self.observer.error(f"What layouts moved cases by is not stored: {error}")

    @classmethod
    def of(
        cls,
        builds: Iterable[Build],
        settings: MeasurementSettings,
        observer: Observer,
        recorder: Recorder | None = None,
    ) -> Self:
        """Probe ``builds``; what killed runs left behind is removed first.

        Raises:
            BuildError: one cannot be used.
        """
        sweep()
        limit = settings.timeout_s or _TIMEOUT_S
        return cls(tuple(probe(build, limit) for build in builds), settings, observer, recorder)

    @property
    def names(self) -> tuple[str, ...]:
        """What the builds are called."""
        return tuple(facts.build.name for facts in self.facts)

    @property
    def lanes(self) -> int:
        """How many cases are measured at a time.

        Raises:
            UsageError: a core is not available.
        """
        return self.settings.jobs or self.settings.pool(self.observer.note).size

    def orders(self, cases: Sequence[Case], *, skip: bool = False) -> list[WorkOrder]:
        """The orders of all builds: each case on one after the other, then the next case.

        Raises:
            BuildError: a build is missing something that the cases need, and ``skip`` is not set.
        """
        settings = self.settings
        make = functools.partial(
            settings.order,
            counts=settings.counts,
            times=settings.times,
            output=True,
            executed=settings.counts,
        )
        needs = engine_named(settings.engine).needs
        plans = [plan(cases, facts, make, needs=needs, skip=skip) for facts in self.facts]
        return [order for row in zip(*plans, strict=True) for order in row]

    def run(
        self,
        orders: Sequence[WorkOrder],
        *,
        exporters: Collection[Exporter] = (),
        done: Run | None = None,
        budget: Budget | None = None,
        callgrind_out: Path | None = None,
        engines: Engines | None = None,
    ) -> MeasuredRun:
        """Measure ``orders``; the run is stored and exported while it grows.

        ``done`` is a run to go on from. Where orders ask for resources and times, it is measured
        first what the machine can do. ``engines`` are used if given, and left open.

        Raises:
            BuildError: an engine cannot start; nothing was measured.
            DataError: ``done`` was measured by another engine, or on another build.
        """
        settings, lanes, pool = self.settings, self.lanes, self.settings.pool(self.observer.note)
        for facts in self.facts:
            self.observer.note(banner(facts, settings.engine, lanes))
        waiting = remaining(orders, done)
        with contextlib.ExitStack() as stack:
            if engines is None:
                engines = stack.enter_context(self.engines(callgrind_out=callgrind_out))
            for name, engine in engines.items():
                engine.check([order for order in waiting if order.build.name == name])
            measured = Measured(
                settings.engine,
                engines,
                tuple(exporters),
                self.observer,
                Cache().root / DURATIONS,
                self.recorder,
                machine=self._machine(waiting, pool),
                budget=budget,
                changed_files=self._changed_files,
                package_folders={facts.build.name: facts.package_folder for facts in self.facts},
            )
            interrupted = measured.execute(orders, pool, lanes, done)
        for name, files in measured.run.changed_files.items():
            self.observer.error(changed(name, files))
        return MeasuredRun(
            measured.run,
            tuple(orders),
            measured.run_id,
            interrupted,
            frozenset(measured.unsaved),
            measured.is_stored,
        )

    def _changed_files(self) -> dict[str, ChangedFiles]:
        found = {facts.build.name: facts.changed_files() for facts in self.facts}
        return {name: changed for name, changed in found.items() if changed is not None}

    @contextlib.contextmanager
    def engines(self, *, layout: int = 0, callgrind_out: Path | None = None) -> Iterator[Engines]:
        """An engine for each build, by its name, in a memory layout; closed in the end.

        Raises:
            BuildError: it cannot start.
        """
        profile = self.settings.profile(callgrind_out, layout)
        engines = {}
        with contextlib.ExitStack() as stack:
            for facts in self.facts:
                made = make_engine(self.settings.engine, facts, profile, self.observer.note)
                engines[facts.build.name] = stack.enter_context(contextlib.closing(made))
            yield engines

    def _machine(self, orders: Iterable[WorkOrder], pool: CorePool) -> Machine | None:
        """What the machine can do, as a yardstick for what is measured."""
        if not any(order.asks_for_resources and order.times for order in orders):
            return None
        with pool.reserve(1) as (core,):
            return measure_machine(self.facts[0].build, core)


def changed(build: str, files: ChangedFiles) -> str:
    """What makes the results of a run doubtful."""
    return (
        f'Files of build "{build}" changed during the run, and results may be of other code: '
        f"{files.summary}\n  Measure again; a statement must not write into the build."
    )


def banner(facts: BuildFacts, engine: str, lanes: int) -> str:
    """One line that says what is measured, and how."""
    fingerprint = facts.fingerprint
    parts = [
        f"torch {fingerprint.torch}",
        f"Python {fingerprint.python}",
        fingerprint.valgrind or "no valgrind",
        f"{lanes} lane{'' if lanes == 1 else 's'}",
        f"hermetic v{fingerprint.profile_version}",
        f"engine {engine}",
    ]
    name = "" if facts.build.name == DEFAULT_NAME else f"{facts.build.name}: "
    return name + " · ".join(parts)
