"""Whether anything accumulates: the memory of the servers over 1,000 cases.

    .venv/bin/python -m benchmarks.memory

Ten cases of the standard suite are measured a hundred times each, in the same two servers.
"""

from __future__ import annotations

import argparse
import os
from contextlib import closing
from pathlib import Path

from rich.console import Console
from rich.table import Table

from instruction_counts.builds.probing import probe
from instruction_counts.domain.build import default_build
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Profile
from instruction_counts.engines.registry import engine_named
from instruction_counts.execution.cores import available_cores, machine_wide
from instruction_counts.execution.events import Finished
from instruction_counts.execution.local_lanes import LocalLanes
from instruction_counts.execution.scheduler import execute
from instruction_counts.sources.definitions import STANDARD, load

CONSOLE = Console()


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=1000)
    args = parser.parse_args()
    facts = probe(default_build())
    cases = load(STANDARD)[: 10 * 12 : 12]
    orders = [WorkOrder(cases[n % len(cases)], facts.build) for n in range(args.cases)]
    pool = machine_wide(available_cores(), CONSOLE.print)
    engine = engine_named("fork").make(facts, Profile(), CONSOLE.print)
    table = Table("cases done", "servers, resident", "this program, resident", "files")
    with closing(
        execute(orders, LocalLanes({facts.build.name: engine}, pool, len(pool.cores)))
    ) as events:
        done = 0
        for event in events:
            if isinstance(event, Finished):
                assert event.outcome.status is Status.OK, event.outcome.failure
                done += 1
                if done in {20, args.cases} or done % (args.cases // 5) == 0:
                    servers = [pid for pid in children_of(os.getpid()) if is_server(pid)]
                    table.add_row(
                        f"{done:,}",
                        " + ".join(f"{resident_mib(pid):,}" for pid in servers) + " MiB",
                        f"{resident_mib(os.getpid()):,} MiB",
                        str(sum(count_files(pid) for pid in servers)),
                    )
    CONSOLE.print(table)


def children_of(parent: int) -> list[int]:
    """The processes that ``parent`` started."""
    tasks = Path(f"/proc/{parent}/task").glob("*/children")
    return sorted(int(pid) for task in tasks for pid in task.read_text().split())


def is_server(pid: int) -> bool:
    """Whether a process is one of the two servers, and no compiler."""
    return b"worker.py" in Path(f"/proc/{pid}/cmdline").read_bytes()


def resident_mib(pid: int) -> int:
    """Resident memory of a process."""
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 2**20


def count_files(pid: int) -> int:
    """Files in the working folder of a server, dumps included."""
    return sum(1 for _ in Path(f"/proc/{pid}/cwd/").resolve().rglob("*"))


if __name__ == "__main__":
    main()
