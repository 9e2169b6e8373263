"""How much faster the fork engine is than the reference engine: both measured in one run.

    make bench

A fixed sample of six cases (2 Python, 2 C++, 1 TorchScript, 1 backward) is measured with both
engines, one after the other on one lane, with warm caches and servers that run. The figure that
counts is the ratio; seconds are of the machine at hand. What a case takes is then taken apart: by
how much longer it takes to have its times, what it executes, and its output, too. ``--parts`` does
that alone, in a minute; ``--times`` shows how far the times of processes differ by how long they
take. ``--suite`` also times the standard suite.
"""

import argparse
import statistics
import time
from collections.abc import Sequence
from contextlib import closing
from typing import Any

from rich.console import Console
from rich.table import Table

from instruction_counts.builds.probing import BuildFacts, probe
from instruction_counts.core.types import Case
from instruction_counts.domain.build import default_build
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Engine, Profile
from instruction_counts.engines.registry import engine_named
from instruction_counts.execution.cores import CorePool, available_cores
from instruction_counts.execution.events import Finished
from instruction_counts.execution.local_lanes import LocalLanes
from instruction_counts.execution.scheduler import execute
from instruction_counts.sources.definitions import STANDARD, load
from instruction_counts.system.folders import make_runtime_folder

SAMPLE = (
    "MatMul / mm · Python · Eager · Forward",
    "Pointwise / Math / add / Tensor-Tensor · Python · Eager · Forward",
    "MatMul / mm · C++ · Eager · Forward",
    "Data movement / zero_ · C++ · Eager · Forward",
    "MatMul / mm · Python · TorchScript · Forward",
    "Training / Regression · Python · Eager · Forward + Backward",
)
CONSOLE = Console()


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5, help="of the fork engine")
    parser.add_argument("--parts", action="store_true", help="only take a case apart")
    parser.add_argument("--times", action="store_true", help="only how well times repeat")
    parser.add_argument("--suite", action="store_true", help="also time the standard suite")
    args = parser.parse_args()
    cases = {case.title: case for case in load(STANDARD)}
    sample = [cases[title] for title in SAMPLE]
    facts = probe(default_build())
    if args.parts:
        show_parts(facts, sample, args.repeats)
        return
    if args.times:
        show_times(facts, sample)
        return

    begin = time.perf_counter()
    engine = engine_named("fork").make(facts, Profile(keeps_servers=False), CONSOLE.print)
    measure(engine, facts, sample, 1)
    start_up_s = time.perf_counter() - begin
    CONSOLE.print(f"servers started, caches and models made: {start_up_s:.1f} s")

    engine = engine_named("fork").make(facts, Profile(keeps_servers=False), CONSOLE.print)
    rounds = measure(engine, facts, sample * (1 + args.repeats), 1)
    # The first round waits for the servers.
    fork_s = {title: median_s(outcomes[1:]) for title, outcomes in rounds.items()}
    timer = engine_named("timer").make(facts, Profile(keeps_servers=False), CONSOLE.print)
    reference = measure(timer, facts, sample, 1)
    timer_s = {title: outcome.duration_s for title, (outcome,) in reference.items()}
    show_speed(fork_s, timer_s)
    show_parts(facts, sample, args.repeats, statistics.mean(timer_s.values()))
    engine = engine_named("fork").make(
        facts, Profile(allocator="system", keeps_servers=False), CONSOLE.print
    )
    show_agreement(measure(engine, facts, sample, 1), reference)
    if args.suite:
        time_suite(facts, tuple(cases.values()))


PARTS: dict[str, dict[str, Any]] = {
    "counts alone": {"times": False},
    "… and times: what the reference takes": {},
    "… and bytecodes and operators": {"executed": True},
    "… and its output: what `run` takes": {"executed": True, "output": True},
}
"""What is asked of a case, as `WorkOrder` has it: each has all that the one before has."""


def median_s(outcomes: Sequence[Outcome]) -> float:
    """How long a case usually takes."""
    return statistics.median(outcome.duration_s for outcome in outcomes)


def show_parts(
    facts: BuildFacts, cases: Sequence[Case], repeats: int, timer_s: float | None = None
) -> None:
    """Seconds of a case for all that `run` measures of it, and what each part of that takes.

    ``timer_s`` is what the reference takes on average.
    """
    table = Table("what is measured of a case", "mean", "more", "ratio")
    engine = engine_named("fork").make(facts, Profile(keeps_servers=False), CONSOLE.print)
    orders = [
        WorkOrder(case, facts.build, **asked)
        for _ in range(1 + repeats)
        for asked in PARTS.values()
        for case in cases
    ]
    before = 0.0
    rounds = [*carried_out(engine, facts, orders, 1).values()]
    for number, name in enumerate(PARTS):
        # Again, the first round waits for the servers.
        seconds = statistics.mean(
            median_s(outcomes[len(PARTS) + number :: len(PARTS)]) for outcomes in rounds
        )
        ratio = f"{timer_s / seconds:.0f}" if timer_s else "–"
        table.add_row(name, f"{seconds:.2f} s", f"{seconds - before:.2f} s", ratio)
        before = seconds
    CONSOLE.print(table)


def show_times(facts: BuildFacts, cases: Sequence[Case], processes: int = 15) -> None:
    """How far the medians of fresh processes differ, by how long each takes times of a case."""
    table = Table("times are taken for", "interquartile range of the processes, mean of the cases")
    orders = [WorkOrder(case, facts.build, counts=False) for case in cases] * processes
    for length_s in (0.05, 0.1, 0.2):
        profile = Profile(min_run_time_s=length_s, keeps_servers=False)
        engine = engine_named("fork").make(facts, profile, CONSOLE.print)
        spreads = []
        for outcomes in carried_out(engine, facts, orders, 1).values():
            medians_s = [outcome.times.median_s for outcome in outcomes if outcome.times]
            low, median, high = statistics.quantiles(medians_s)
            spreads.append((high - low) / median)
        table.add_row(f"{length_s} s", f"{statistics.mean(spreads):.1%}")
    CONSOLE.print(table)


def measure(
    engine: Engine, facts: BuildFacts, cases: Sequence[Case], lanes: int
) -> dict[str, list[Outcome]]:
    """The outcomes of each case; its duration is from its start on a lane to its outcome."""
    orders = [WorkOrder(case, facts.build, timeout_s=1800) for case in cases]
    return carried_out(engine, facts, orders, lanes)


def carried_out(
    engine: Engine, facts: BuildFacts, orders: Sequence[WorkOrder], lanes: int
) -> dict[str, list[Outcome]]:
    """The outcomes of the orders of each case, in their order where one lane carries them out."""
    pool = CorePool(available_cores(), make_runtime_folder(), CONSOLE.print)
    outcomes: dict[str, list[Outcome]] = {}
    here = LocalLanes({facts.build.name: engine}, pool, lanes)
    with closing(execute(orders, here)) as events:
        for event in events:
            if isinstance(event, Finished):
                if event.outcome.status is not Status.OK:
                    raise SystemExit(f"{event.order.title}: {event.outcome.failure}")
                outcomes.setdefault(event.order.title, []).append(event.outcome)
    return outcomes


def show_speed(fork_s: dict[str, float], timer_s: dict[str, float]) -> None:
    """Seconds of both engines, and their ratio."""
    table = Table("case", "reference", "fork", "ratio")
    for title, seconds in timer_s.items():
        ratio = f"{seconds / fork_s[title]:.0f}"
        table.add_row(title, f"{seconds:.1f} s", f"{fork_s[title]:.2f} s", ratio)
    whole = sum(timer_s.values()), sum(fork_s.values())
    table.add_row("all", f"{whole[0]:.1f} s", f"{whole[1]:.2f} s", f"{whole[0] / whole[1]:.0f}")
    CONSOLE.print(table)


def show_agreement(fork: dict[str, list[Outcome]], timer: dict[str, list[Outcome]]) -> None:
    """Counts of both engines, both on the system's allocator.

    The reference engine subtracts no loop from C++ cases, so the fork engine's is added again.
    """
    table = Table("case", "reference", "fork, system allocator", "difference")
    for title in timer:
        theirs, ours = (engine[title][0].instructions for engine in (timer, fork))
        assert theirs is not None, "every case was counted"
        assert ours is not None, "every case was counted"
        counted = ours.per_run + ("· C++ ·" in title) * ours.loop
        difference = (counted - theirs.per_run) / theirs.per_run
        table.add_row(title, f"{theirs.per_run:,}", f"{counted:,}", f"{difference:+.2%}")
    CONSOLE.print(table)


def time_suite(facts: BuildFacts, cases: Sequence[Case]) -> None:
    """How long the standard suite takes on all cores."""
    lanes = len(available_cores())
    engine = engine_named("fork").make(facts, Profile(keeps_servers=False), CONSOLE.print)
    begin = time.perf_counter()
    measure(engine, facts, cases, lanes)
    seconds = time.perf_counter() - begin
    CONSOLE.print(f"standard suite: {len(cases)} cases on {lanes} lanes in {seconds:.0f} s")


if __name__ == "__main__":
    main()
