"""The steps of a run: which orders, which engine, and taking in what happens."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing

import attrs

from core.types import Case, Language
from instruction_counts import __version__, console
from instruction_counts.builds.fingerprint import BuildFacts
from instruction_counts.builds.hermetic import environment
from instruction_counts.builds.missing import missing
from instruction_counts.cache import Cache
from instruction_counts.engines.compiler import Compiler
from instruction_counts.engines.engine import Engine
from instruction_counts.engines.fork import ForkEngine, Profile
from instruction_counts.engines.timer import TimerEngine
from instruction_counts.errors import BuildError
from instruction_counts.execution.cores import CorePool
from instruction_counts.execution.events import Finished
from instruction_counts.execution.lanes import execute, refuse_too_wide
from instruction_counts.execution.work import WorkOrder
from instruction_counts.measurements import Status
from instruction_counts.results.export import Exporter
from instruction_counts.results.records import Identity, Record, Run, identity_of


def make_engine(
    name: str, facts: BuildFacts, profile: Profile, notice: Callable[[str], None]
) -> Engine:
    """The engine called ``name`` (``fork`` or ``timer``), for one build."""
    if name == "timer":
        return TimerEngine(facts)
    compiler = Compiler(facts, Cache(), environment(facts.build))
    return ForkEngine(facts, compiler, profile, notice)


def plan(
    cases: Sequence[Case],
    facts: BuildFacts,
    make_order: Callable[..., WorkOrder],
    *,
    skip: bool,
) -> list[WorkOrder]:
    """The orders of one build; with ``skip``, without what it cannot do.

    Raises:
        BuildError: the build lacks something that the cases need, and ``skip`` is not set.
    """
    order = make_order(cases[0], facts.build)
    counts = order.counts
    kept = list(cases)
    for lack in missing(facts):
        is_cpp = any(case.autolabels.language is Language.CPP for case in kept)
        if (lack.prevents == "counts" and not counts) or (lack.prevents == "c++" and not is_cpp):
            continue
        if not skip:
            raise BuildError(lack.what, f"{lack.remedy}     or  --skip-unavailable")
        console.note(f"{lack.what} Skipped.")
        if lack.prevents == "counts":
            counts = False
        else:
            kept = [case for case in kept if case.autolabels.language is not Language.CPP]
    if not kept or not (counts or order.times):
        raise BuildError(f'build "{facts.build.name}" can run none of the selected cases')
    return [attrs.evolve(make_order(case, facts.build), counts=counts) for case in kept]


class Measured:
    """A run that grows: every outcome is recorded, shown and saved as it comes."""

    def __init__(
        self, engine: str, engines: Mapping[str, Engine], exporters: Sequence[Exporter]
    ) -> None:
        self._engine, self._engines, self._exporters = engine, engines, exporters
        self._records: list[Record] = []

    @property
    def run(self) -> Run:
        """The run, as far as it is."""
        fingerprints = {name: one.fingerprint for name, one in self._engines.items()}
        return Run(__version__, self._engine, fingerprints, tuple(self._records))

    def take_in(
        self,
        orders: Sequence[WorkOrder],
        pool: CorePool,
        lanes: int,
        done: Run | None,
    ) -> bool:
        """Measure ``orders``, but for those that ``done`` holds; True if interrupted."""
        reused = _reusable(done)
        waiting = []
        refused = refuse_too_wide(orders, pool)
        for order in orders:
            key = identity_of(order.case, order.build.name), order.case.definition_hash
            if key in reused:
                self._records.append(reused[key])
            elif order in refused:
                self._add(Finished(order, refused[order]))
            else:
                waiting.append(order)
        try:
            self._measure(waiting, pool, lanes)
        except KeyboardInterrupt:
            return True
        finally:
            self._restore_order(orders)
            self._save(final=True)
        return False

    def _measure(self, orders: Sequence[WorkOrder], pool: CorePool, lanes: int) -> None:
        with (
            closing(execute(orders, self._engines, pool, lanes)) as events,
            console.progress(len(orders)) as progress,
        ):
            for event in events:
                if isinstance(event, Finished):
                    self._add(event)
                progress.show(event)

    def _add(self, event: Finished) -> None:
        self._records.append(Record.of(event.order.case, event.order.build.name, event.outcome))
        self._save(final=False)

    def _restore_order(self, orders: Sequence[WorkOrder]) -> None:
        # Lanes finish in any order; files and tables follow the definitions.
        places = {
            identity_of(order.case, order.build.name): place for place, order in enumerate(orders)
        }
        self._records.sort(key=lambda record: places[record.identity])

    def _save(self, *, final: bool) -> None:
        for exporter in self._exporters:
            exporter.update(self.run, final=final)


def _reusable(done: Run | None) -> dict[tuple[Identity, str], Record]:
    """The measured records of an earlier run, by identity and code."""
    records = done.cases if done is not None else ()
    return {
        (record.identity, record.definition_hash): record
        for record in records
        if record.outcome.status is Status.OK
    }
