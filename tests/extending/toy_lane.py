"""Lanes on another machine, which a pool of processes stands for: a file, and one registration."""

import contextlib
import multiprocessing
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool

import attrs

from instruction_counts.builds.probing import BuildFacts
from instruction_counts.domain.build import Build, Fingerprint
from instruction_counts.domain.outcomes import (
    Failure,
    FailureKind,
    Instructions,
    Machine,
    Outcome,
    Status,
)
from instruction_counts.domain.records import ChangedFiles
from instruction_counts.domain.work import WorkOrder
from instruction_counts.execution.lanes import Lanes, LanesEntry, Measure, Opening
from tests.fakes import FACTS


def measure_there(order: WorkOrder) -> Outcome:
    """What the other machine does: it counts the characters of the statement."""
    if "die" in order.case.timer_args.stmt:
        raise SystemExit(1)
    count = len(order.case.timer_args.stmt)
    return Outcome(Status.OK, instructions=Instructions(count, exact=True, windows=()))


@attrs.frozen
class Elsewhere(Lanes):
    """As many lanes as the other machine has processors; orders and outcomes travel as values."""

    facts: tuple[BuildFacts, ...]
    number: int
    pool: ProcessPoolExecutor
    widest: int = 1

    @property
    def fingerprints(self) -> Mapping[str, Fingerprint]:
        """As the builds were asked there."""
        return {facts.build.name: facts.fingerprint for facts in self.facts}

    @contextlib.contextmanager
    def lane(
        self, orders: Sequence[WorkOrder], is_cancelled: Callable[[], bool]
    ) -> Iterator[Measure | None]:
        """The pool has its own queue."""
        del orders
        yield None if is_cancelled() else self._measure

    def changed_files(self) -> dict[str, ChangedFiles]:
        """Nobody writes there."""
        return {}

    def machine(self) -> Machine:
        """Not fast."""
        return Machine(copy_bytes_per_s=1, matmul_flops_per_s=1)

    def close(self) -> None:
        """End its processes."""
        self.pool.shutdown(cancel_futures=True)

    def _measure(self, order: WorkOrder) -> Outcome:
        try:
            return self.pool.submit(measure_there, order).result()
        except (SystemExit, BrokenProcessPool):  # another try may meet a machine that lives
            return Outcome.failed(Failure(FailureKind.EXIT, "the machine went away"))


def probe(build: Build, timeout_s: float) -> BuildFacts:
    """Every build is the same there."""
    return attrs.evolve(FACTS, build=build)


def open_there(asked: Opening) -> Elsewhere:
    """Two lanes, unless others are asked for."""
    number = asked.jobs or 2
    context = multiprocessing.get_context("spawn")
    return Elsewhere(asked.facts, number, ProcessPoolExecutor(number, context))


ELSEWHERE = LanesEntry("elsewhere", probe, open_there)
