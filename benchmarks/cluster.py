"""What an order costs beside what is measured, on lanes of Dask's workers: 200 of them.

    .venv/bin/python -m benchmarks.cluster
    .venv/bin/python -m benchmarks.cluster --real 100

Workers of this machine open lanes of a kind that measures nothing. 200 lanes carry out the orders,
each with an outcome as large as that of a real case, through the same messages as real ones.

``--real N`` counts N cases of operators, on local lanes and then on as many workers with one lane
each, and compares counts and seconds; servers start before that. With ``--kill`` one worker is
killed when half of the cases are done.
"""

import argparse
import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import attrs
from rich.console import Console

from instruction_counts.builds.probing import BuildFacts, probe
from instruction_counts.cluster.connection import connected
from instruction_counts.cluster.lanes import ClusterLanes, Workers
from instruction_counts.domain.build import Build, Fingerprint, default_build
from instruction_counts.domain.outcomes import (
    FunctionCost,
    FunctionCosts,
    Instructions,
    Machine,
    Outcome,
    Status,
    Window,
)
from instruction_counts.domain.records import ChangedFiles
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Profile
from instruction_counts.engines.registry import DEFAULT
from instruction_counts.execution.events import Finished
from instruction_counts.execution.lanes import Lanes, LanesEntry, Measure, Opening
from instruction_counts.execution.local_lanes import DEFAULT as LOCAL
from instruction_counts.execution.local_lanes import lanes_named, register
from instruction_counts.execution.scheduler import execute
from instruction_counts.sources.definitions import STANDARD, load
from instruction_counts.sources.operators.source import operators

_FUNCTIONS = 300
"""That a case of the standard suite has about."""
_COSTS = tuple(
    FunctionCost("libtorch_cpu.so", "", f"at::function_{n}(int)", n, 2 * n)
    for n in range(_FUNCTIONS)
)
_OUTCOME = Outcome(
    Status.OK,
    instructions=Instructions(9191, exact=True, windows=(Window(100, 919_100),) * 6),
    functions=FunctionCosts(100, _COSTS),
)


@attrs.frozen
class NoLanes(Lanes):
    """Lanes that measure nothing."""

    facts: tuple[BuildFacts, ...]
    number: int
    widest: int = 64

    @property
    def fingerprints(self) -> Mapping[str, Fingerprint]:
        """Of the builds as they were found."""
        return {facts.build.name: facts.fingerprint for facts in self.facts}

    @contextlib.contextmanager
    def lane(
        self, orders: Sequence[WorkOrder], is_cancelled: Callable[[], bool]
    ) -> Iterator[Measure | None]:
        """There is always one."""
        del orders, is_cancelled
        yield lambda _: _OUTCOME

    def changed_files(self) -> dict[str, ChangedFiles]:
        """Nobody writes there."""
        return {}

    def machine(self) -> Machine:
        """Not fast."""
        return Machine(copy_bytes_per_s=1, matmul_flops_per_s=1)


def open_none(asked: Opening) -> NoLanes:
    """As many as are asked for."""
    return NoLanes(asked.facts, asked.jobs or 1)


def probe_here(build: Build, timeout_s: float) -> BuildFacts:
    """A build as it is."""
    return probe(build, timeout_s)


KIND = LanesEntry("none", probe_here, open_none)


def dask_setup(_: object) -> None:
    """What a worker of Dask calls that loads this file."""
    register(KIND)


@attrs.frozen
class Counted:
    """What lanes counted, and how long that took."""

    counts: Mapping[str, int | None]
    """By the title of the case; None of one that failed."""
    seconds: float


def counted(
    orders: Sequence[WorkOrder], lanes: Lanes, after: Callable[[int], None] = lambda _: None
) -> Counted:
    """Count cases once all lanes have their servers; ``after`` hears how many are done."""
    found: dict[str, int | None] = {}
    first, others = orders[: 4 * lanes.number], orders[4 * lanes.number :]
    begin = 0.0
    for part in (first, others):
        begin = time.perf_counter()
        for event in execute(part, lanes):
            if isinstance(event, Finished):
                counts = event.outcome.instructions
                found[event.order.title] = None if counts is None else counts.per_run
                after(len(found))
    return Counted(found, time.perf_counter() - begin)


def count_on_both(number: int, workers: int, *, kill: bool) -> None:
    """Count as many cases on local lanes and on workers, and print what differs."""
    from distributed import LocalCluster  # noqa: PLC0415 - an extra

    facts = probe(default_build())
    orders = [
        WorkOrder(case, facts.build, executed=True) for case in operators("*").cases()[:number]
    ]
    profile = Profile(keeps_servers=False)
    asked = Opening(DEFAULT, (facts,), profile, jobs=workers)
    with contextlib.closing(lanes_named(LOCAL).open(asked)) as lanes:
        here = counted(orders, lanes)
    options = {"n_workers": workers, "threads_per_worker": 1, "dashboard_address": None}
    with LocalCluster(**options) as cluster:
        client = connected(cluster.scheduler_address)
        processes = [*client.run(os.getpid).values()]

        def after(done: int) -> None:
            if kill and done == number // 2:
                os.kill(processes[0], signal.SIGKILL)

        asked = Opening(DEFAULT, (facts,), profile, jobs=1, notice=Console().print)
        with contextlib.closing(ClusterLanes(Workers(client), asked)) as lanes:
            there = counted(orders, lanes, after)
    equal = sum(there.counts.get(title) == count for title, count in here.counts.items())
    Console().print(
        f"{number} cases: {here.seconds:.0f} s on {workers} local lanes, {there.seconds:.0f} s on "
        f"{workers} workers ({here.seconds / there.seconds:.0%} of the throughput)"
        f"{', one of them killed' if kill else ''}; {equal} counts are equal, "
        f"{sum(count is None for count in here.counts.values())} failed here"
    )


def main() -> None:
    """Carry out the orders, and print what each took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--orders", type=int, default=10_000)
    parser.add_argument("--lanes", type=int, default=200)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--real", type=int, metavar="N", help="count so many cases")
    parser.add_argument("--kill", action="store_true", help="kill a worker meanwhile")
    args = parser.parse_args()
    if args.real:
        count_on_both(args.real, args.workers, kill=args.kill)
        return
    import dask  # noqa: PLC0415 - an extra
    from distributed import LocalCluster  # noqa: PLC0415

    each = args.lanes // args.workers
    dask.config.set({"distributed.worker.preload": [str(Path(__file__))]})
    facts = probe(default_build())
    cases = load(STANDARD)
    orders = [
        WorkOrder(attrs.evolve(cases[n % len(cases)], label=(f"{n}",)), facts.build)
        for n in range(args.orders)
    ]
    options = {"n_workers": args.workers, "threads_per_worker": each, "dashboard_address": None}
    with LocalCluster(**options) as cluster:
        workers = Workers(connected(cluster.scheduler_address))
        asked = Opening(DEFAULT, (facts,), Profile(), jobs=each)
        with contextlib.closing(ClusterLanes(workers, asked, KIND.name)) as lanes:
            begin = time.perf_counter()
            done = sum(isinstance(event, Finished) for event in execute(orders, lanes))
            seconds = time.perf_counter() - begin
    Console().print(
        f"{done:,} orders on {lanes.number} lanes of {args.workers} workers: {seconds:.1f} s, "
        f"{1000 * seconds / done:.2f} ms an order"
    )


if __name__ == "__main__":
    main()
