"""Lanes on this machine: an engine for each build, cores of its own and a private folder a case."""

import contextlib
import shutil
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

import attrs

from instruction_counts.builds.lock_files import mark_used
from instruction_counts.builds.probing import BuildFacts, measure_machine
from instruction_counts.domain.build import Fingerprint
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Machine, Outcome
from instruction_counts.domain.records import ChangedFiles
from instruction_counts.domain.registry import Registry
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Engine, MeasureInTurns, Notice
from instruction_counts.engines.registry import engine_named
from instruction_counts.engines.warm.client import known_or_probed
from instruction_counts.execution.cores import CorePool, available_cores, parse_cores
from instruction_counts.execution.lanes import LanesEntry, Measure, Opening
from instruction_counts.system.folders import WorkFolder, make_runtime_folder

_MOST = 1024
"""Of lanes: more only wait, each in a thread."""
_FULL_BYTES = 1 << 16


@attrs.frozen
class LocalLanes:
    """Cores of ``pool``, on which ``number`` cases are measured at a time."""

    engines: Mapping[str, Engine]
    """By the name of the build."""
    pool: CorePool
    number: int
    facts: tuple[BuildFacts, ...] = ()
    notice: Notice = lambda _: None
    in_turns: MeasureInTurns | None = None
    _said_full: threading.Event = attrs.field(factory=threading.Event, init=False)

    @property
    def widest(self) -> int:
        """See `Lanes`, as for all that follows."""
        return self.pool.widest

    @property
    def fingerprints(self) -> Mapping[str, Fingerprint]:
        """Those of the engines."""
        return {name: engine.fingerprint for name, engine in self.engines.items()}

    def check(self, orders: Sequence[WorkOrder]) -> None:
        """Ask each engine."""
        for name, engine in self.engines.items():
            engine.check([order for order in orders if order.build.name == name])

    def start(self, orders: Sequence[WorkOrder]) -> None:
        """Each engine on a core that nothing is measured on meanwhile."""
        for name, engine in self.engines.items():
            # In turns, the base is timed, too.
            mine = [
                order
                for order in orders
                if name in {order.build.name, order.beside and order.beside.name}
            ]
            engine.start(mine, partial(self.pool.reserve, 1))

    @contextlib.contextmanager
    def lane(
        self, orders: Sequence[WorkOrder], is_cancelled: Callable[[], bool]
    ) -> Iterator[Measure | None]:
        """Contiguous cores."""
        if len(self.engines) > 1:  # one that still starts would show in the times of the others
            for engine in self.engines.values():
                engine.wait()
        with self.pool.reserve(orders[0].cores, is_cancelled) as taken:
            yield partial(self._measure, taken) if taken else None

    def changed_files(self) -> dict[str, ChangedFiles]:
        """Look at each file of torch and the interpreter."""
        found = {facts.build.name: facts.changed_files() for facts in self.facts}
        return {name: changed for name, changed in found.items() if changed is not None}

    def machine(self) -> Machine:
        """By the torch of the first build."""
        with self.pool.reserve(1) as (core,):
            return measure_machine(self.facts[0].build, core)

    def close(self) -> None:
        """Every engine, also where another interrupt cuts the end of one short."""
        with contextlib.ExitStack() as stack:
            for engine in self.engines.values():
                stack.callback(engine.close)

    def _measure(self, cores: tuple[int, ...], order: WorkOrder) -> Outcome:
        mark_used(order.build)
        with WorkFolder() as folder:
            engine = self.engines[order.build.name]
            if order.beside is None:
                outcome = engine.measure(order, cores, folder)
            else:
                assert self.in_turns is not None, "asked of engines that can"
                mark_used(order.beside)
                base = self.engines[order.beside.name]
                outcome = self.in_turns(base, engine, order, cores, folder)
            if outcome.failure is not None:
                self._look_for_room(folder)
            return outcome

    def _look_for_room(self, folder: Path) -> None:
        """Say once that there is no room for the files of cases, which then fail in any way."""
        if not self._said_full.is_set() and shutil.disk_usage(folder).free < _FULL_BYTES:
            self._said_full.set()
            self.notice(
                f"{folder.parent} is full, and cases that write there fail.\n"
                f"  Free some space, then measure them again: df -h {folder.parent}"
            )


def _open(asked: Opening) -> LocalLanes:
    if asked.jobs is not None and asked.jobs > _MOST:
        raise UsageError(
            f"{asked.jobs:,} workers are too many: at most {_MOST:,}",
            "Leave out --jobs for one worker per core.",
        )
    available = available_cores()
    cores = parse_cores(asked.cores, available) if asked.cores else available
    pool = CorePool(cores, make_runtime_folder(), asked.notice)
    entry = engine_named(asked.engine)
    engines: dict[str, Engine] = {}
    with contextlib.ExitStack() as stack:
        for facts in asked.facts:
            engine = entry.make(facts, asked.profile, asked.notice)
            engines[facts.build.name] = stack.enter_context(contextlib.closing(engine))
        stack.pop_all()
    number = asked.jobs or len(pool.cores)
    return LocalLanes(*(engines, pool, number, asked.facts, asked.notice, entry.measure_in_turns))


_KINDS = Registry("kind of lanes", LanesEntry("local", known_or_probed, _open))
"""The kinds of lanes that there are; a further one is a file with an entry, and one line here."""
register, unregister, lanes_named = _KINDS.register, _KINDS.unregister, _KINDS.named

DEFAULT = "local"
"""Where cases are measured if nothing else is asked for."""
