"""What counts cases and simulates them: the formula of cycles, windows, what lanes share."""

import threading
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NoReturn, cast

import attrs
import pytest

from instruction_counts.domain.metrics import OF_CYCLES
from instruction_counts.domain.outcomes import Failure, FailureKind, Outcome, Status
from instruction_counts.engines.cpp.compiler import Compiler
from instruction_counts.engines.fork_counts import (
    LAYOUTS,
    CaseCycles,
    Once,
    amounts_of,
    callgrind_name,
)
from instruction_counts.engines.machine import read_machine
from instruction_counts.engines.warm.client import Server
from instruction_counts.system.worker_process import WorkerError
from tests.fakes import make_case

EVENTS = (
    *("Ir", "Dr", "Dw", "I1mr", "D1mr", "D1mw", "ILmr", "DLmr", "DLmw"),
    *("Bc", "Bcm", "Bi", "Bim"),
)
ONCE = dict.fromkeys(EVENTS, 1.0)


@pytest.mark.parametrize(
    ("event", "cycles", "metric"),
    [
        ("Ir", 1, None),
        ("I1mr", 10, "l1_instruction_misses"),
        ("D1mr", 10, "l1_data_misses"),
        ("D1mw", 10, "l1_data_misses"),
        ("ILmr", 100, "last_level_misses"),
        ("DLmr", 100, "last_level_misses"),
        ("DLmw", 100, "last_level_misses"),
        ("Bcm", 10, "mispredictions"),
        ("Bim", 10, "mispredictions"),
        ("Dr", 0, None),
        ("Bc", 0, None),
    ],
)
def test_each_event_costs_what_kcachegrind_says(
    event: str, cycles: int, metric: str | None
) -> None:
    """One more of it is one more of its metric."""
    more = {**ONCE, event: 2.0}
    before, after = amounts_of(ONCE), amounts_of(more)

    assert cycles == after["cycles"] - before["cycles"]
    assert metric is None or after[metric] > before[metric]


def test_a_simulation_has_each_of_its_metrics() -> None:
    """And no other: comparisons and tables ask for these."""
    assert {metric.name for metric in OF_CYCLES} == {*amounts_of(ONCE)}


def test_cycles_are_rounded_last_and_nothing_is_negative() -> None:
    """Four tenths of a miss cost four cycles; next to nothing, less that of a loop, is nothing."""
    found = amounts_of({**dict.fromkeys(EVENTS, 0.0), "Ir": 7.0, "D1mr": 0.4, "Bcm": -0.01})

    assert (11, 0, 0) == (found["cycles"], found["l1_data_misses"], found["mispredictions"])


def window(path: Path, runs: int, instructions: int, misses: int) -> dict[str, Any]:
    """A window of so many runs, dumped with what surrounds them; its other events are 0."""
    numbers = {**dict.fromkeys(EVENTS[:5], 0), "Ir": 500 + runs * instructions}
    numbers["D1mr"] = 3 + runs * misses
    totals = " ".join(map(str, numbers.values()))
    text = f"# callgrind format\nevents: {' '.join(EVENTS)}\nfn=f\n1 {totals}\ntotals: {totals}\n"
    path.with_name(f"{path.name}-01").write_text(text)
    return {"runs": runs, "dump": f"dumps/{path.name}"}


@attrs.define
class FakeServer:
    """Simulates its first task, which is the empty loop, as 5 instructions, and others as 100."""

    folder: Path
    layouts: list[int] = attrs.field(factory=list)
    """Of all tasks, in their order."""

    def run(self, task: Mapping[str, Any], *_: object) -> dict[str, Any]:
        """The answer of a child; each layout has a miss more than the one before."""
        layout = task["layout"]
        instructions, misses = (100, layout) if self.layouts else (5, 0)
        self.layouts.append(layout)
        pid = len(self.layouts)
        windows = [
            window(self.folder / "dumps" / f"cg.{pid}.{number}", runs, instructions, misses)
            for number, runs in enumerate((10, 20, 10, 20))
        ]
        return {"windows": windows, "pid": pid}


def simulating(server: FakeServer) -> tuple[CaseCycles, list[str]]:
    """What simulates on a server, and the notices that it gives."""
    (server.folder / "dumps").mkdir()
    notices: list[str] = []
    made = CaseCycles(
        cast("Server", server), cast("Compiler", None), read_machine(), notices.append
    )
    return made, notices


def test_a_case_whose_simulation_fails_has_no_cycles_and_says_why(tmp_path: Path) -> None:
    """It was counted before, and stays so."""
    cycles, notices = simulating(FakeServer(tmp_path))

    def too_slow(_: Mapping[str, Any]) -> NoReturn:
        raise WorkerError(Failure(FailureKind.TIMEOUT, "no answer in 60 s"))

    assert Outcome(Status.OK) == cycles.of(make_case(), too_slow)
    assert [f"{make_case().title} has no estimated cycles: no answer in 60 s"] == notices


def test_a_server_that_ends_is_for_another_try(tmp_path: Path) -> None:
    """As where the run ends: nothing is said of the case."""
    cycles, notices = simulating(FakeServer(tmp_path))

    def ended(_: Mapping[str, Any]) -> NoReturn:
        raise WorkerError(Failure(FailureKind.EXIT, "the server ended"))

    with pytest.raises(WorkerError):
        cycles.of(make_case(), ended)

    assert [] == notices


def test_a_case_is_simulated_in_each_layout_less_an_empty_loop(tmp_path: Path) -> None:
    """Cycles of all layouts are kept, of all else the median; of dumps, those of the loop.

    Functions add up to the cycles of the median layout.
    """
    server = FakeServer(tmp_path)
    cycles, notices = simulating(server)
    found = cycles.of(make_case(), server.run)

    assert found.cycles is not None
    assert found.cycle_costs is not None
    assert not notices
    assert [0, *range(LAYOUTS)] == server.layouts
    assert tuple(95 + 10 * layout for layout in range(LAYOUTS)) == found.cycles.layouts
    assert (read_machine().identity, 1) == (found.cycles.machine, found.metrics["l1_data_misses"])
    (cost,) = found.cycle_costs.costs
    assert ("f", found.cycles.median * found.cycle_costs.runs) == (cost.function, cost.exclusive)
    assert {"cg.1"} == {path.name.rpartition(".")[0] for path in (tmp_path / "dumps").iterdir()}


# What several lanes share, and files of Callgrind for people


def test_a_value_is_made_once_for_all_who_ask() -> None:
    """The others wait for the first, who makes it."""
    made, everybody = list[str](), threading.Barrier(4)

    def make(key: str, text: str) -> str:
        made.append(key)
        time.sleep(0.2)  # while the others ask
        return f"{key} {text}"

    once = Once(make)

    def ask(_: int) -> object:
        everybody.wait(60)
        return once.get("a", "value")

    with ThreadPoolExecutor(4) as threads:
        assert ["a value"] * 4 == list(threads.map(ask, range(4)))
    assert ["a"] == made
    assert "b value" == once.get("b", "value")


def test_what_fails_is_tried_again() -> None:
    """As a case that is retried expects."""
    numbers = iter([0, 1])
    once = Once(lambda key: key / next(numbers))
    with pytest.raises(ZeroDivisionError):
        once.get(7)

    assert 7 == once.get(7)


def test_a_case_has_a_file_name_that_people_can_read() -> None:
    """And that differs where only the code or the build does."""
    names = [
        callgrind_name(make_case("a / b", "[0, 0]", stmt=stmt), build)
        for stmt in ("x", "y")
        for build in ("old build", "old-build")
    ]

    assert names[0].startswith("callgrind.out.a-b-0-0-Python-Eager-Forward.old-build.")
    assert len(set(names)) == 4
