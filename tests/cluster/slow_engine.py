"""An engine for workers of Dask, which load this file: it counts characters, and takes its time.

What it measured is noted in the file that NOTED names, a line with the process for each case; its
end in the file beside it, with the suffix ``.closed``. While the file that HOLD names is there,
cases whose label begins with "held" are not finished. Called as a program it is the whole command
line, with this engine.
"""

import os
import sys
import threading
import time
from pathlib import Path

from instruction_counts.builds.probing import BuildFacts
from instruction_counts.domain.outcomes import Instructions, Outcome, Status, Window
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import EngineEntry
from instruction_counts.engines.registry import register
from tests.extending.toys import Abacus

SECONDS = "SECONDS_A_CASE"
NOTED = "NOTED"
HOLD = "HOLD"


class SlowEngine(Abacus):
    """Counts without running anything."""

    def __init__(self, facts: BuildFacts) -> None:
        super().__init__(facts)
        self._closed = threading.Event()

    def measure(self, order: WorkOrder, cores: tuple[int, ...], folder: Path) -> Outcome:
        """As many instructions as the statement has characters."""
        del folder
        label, build = order.case.label[-1], order.build.name
        with Path(os.environ[NOTED]).open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()} {label} {build} {cores[0]}\n")
        time.sleep(float(os.environ.get(SECONDS, "0")))
        while label.startswith("held") and Path(os.environ[HOLD]).exists():
            if self._closed.wait(0.05):
                break
        count = len(order.case.timer_args.stmt)
        return Outcome(Status.OK, instructions=Instructions(count, True, (Window(1, count),)))

    def close(self) -> None:
        """End what is held."""
        self._closed.set()
        with Path(os.environ[NOTED]).with_suffix(".closed").open("a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")


ENGINE = EngineEntry("slow", "takes its time", False, lambda facts, *_: SlowEngine(facts))


def dask_setup(_: object) -> None:
    """What a worker of Dask calls that loads this file."""
    register(ENGINE)


if __name__ == "__main__":
    from instruction_counts.cli import main

    register(ENGINE)
    sys.exit(main())
