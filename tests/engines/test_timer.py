"""The reference engine with a real torch: every way in which a case can end."""

import threading
import time
from pathlib import Path

import attrs
import pytest

from instruction_counts.core.types import Case
from instruction_counts.domain.build import default_build
from instruction_counts.domain.outcomes import (
    Failure,
    FailureKind,
    FunctionCost,
    FunctionCosts,
    Instructions,
    Outcome,
    Status,
    Window,
)
from instruction_counts.domain.records import Record
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.timer import NUMBER, REPEATS, TimerEngine, _outcome
from instruction_counts.execution.cores import available_cores
from instruction_counts.report.torch_objects import callgrind_stats, measurement
from tests.cores import lent
from tests.fakes import FACTS
from tests.real import counts_of, grouped, stated

BUILD = default_build()


def make_engine() -> TimerEngine:
    """An engine for the current interpreter that takes little time."""
    return TimerEngine(attrs.evolve(FACTS, build=BUILD), min_run_time_s=0.01)


def measured(folder: Path, case: Case, *, counts: bool = False) -> Outcome:
    """What becomes of one case; its counts are taken if asked for."""
    with lent(1) as cores:
        return make_engine().measure(WorkOrder(case, BUILD, counts=counts), cores, folder)


@pytest.mark.slow
def test_a_scripted_case_is_timed(tmp_path: Path) -> None:
    """It is scripted, saved and loaded."""
    outcome = measured(tmp_path, grouped())

    assert Status.OK == outcome.status, outcome.failure
    assert outcome.times is not None
    assert 1e-9 < outcome.times.min_s < 1e-3


@pytest.mark.slow
@pytest.mark.parametrize(
    ("stmt", "setup", "failure"),
    [
        (
            *("y = x + 1\ny = y.no_such_thing()", "x = torch.ones(4)"),
            Failure(
                FailureKind.EXCEPTION,
                "AttributeError: 'Tensor' object has no attribute 'no_such_thing'",
                *("y = y.no_such_thing()", "stmt line 2"),
            ),
        ),
        (
            *("x = = 1", "pass"),
            Failure(FailureKind.COMPILE, "SyntaxError: invalid syntax", "x = = 1", "stmt line 1"),
        ),
    ],
)
def test_a_case_that_fails_says_why_and_where(
    tmp_path: Path, stmt: str, setup: str, failure: Failure
) -> None:
    """With the user's own line."""
    assert failure == measured(tmp_path, stated(stmt, setup)).failure


PLACE = """
import os, pathlib, subprocess, tempfile
for _ in range(200): print('x' * 100_000)
assert len(os.sched_getaffinity(0)) == 1
assert os.path.expanduser("~") == tempfile.gettempdir() == {folder!r} + "/tmp"
mark = pathlib.Path({folder!r}, "mark")
if not mark.exists():
    mark.write_text(str(subprocess.Popen(["sleep", "1000"], start_new_session=True).pid))
"""


@pytest.mark.slow
@pytest.mark.faults
def test_a_case_has_a_place_of_its_own(tmp_path: Path) -> None:
    """A core, and a home that goes with its folder; what it prints holds nothing up.

    What it left running, in a session of its own, is ended.
    """
    outcome = measured(tmp_path, stated("pass", PLACE.format(folder=str(tmp_path))))

    assert Status.OK is outcome.status, outcome.failure
    assert not Path(f"/proc/{(tmp_path / 'mark').read_text()}").exists()


def test_closing_the_engine_ends_a_running_case(tmp_path: Path) -> None:
    """From another thread, at once; a lane that holds another order measures nothing."""
    engine, cores = make_engine(), available_cores()[-1:]
    threading.Timer(1, engine.close).start()
    begin = time.monotonic()
    order = WorkOrder(stated("import time; time.sleep(1000)"), BUILD, counts=False)
    outcome = engine.measure(order, cores, tmp_path)
    (tmp_path / "new").mkdir()

    assert Status.FAILED == outcome.status
    assert Status.FAILED is engine.measure(order, cores, tmp_path / "new").status
    assert time.monotonic() - begin < 500


def test_what_torch_says_is_read() -> None:
    """Less its baseline; a function has a file and a library where torch tells them.

    No case costs less than nothing: torch's loop around it varies by more than a statement that
    Python drops.
    """
    counts = {
        "runs": 10,
        "windows": [1_020, 1_000],
        "baseline": 100,
        "exclusive": [[600, "add.cpp:at::add(T, U) [/lib/libc10.so]"], [400, "main"]],
        "inclusive": [[600, "add.cpp:at::add(T, U) [/lib/libc10.so]"]],
    }
    less = {"windows": [980, 990], "baseline": 1_000, "exclusive": [], "inclusive": []}
    outcome = _outcome({"status": "ok", "counts": counts}, "")
    nothing = counts_of(_outcome({"status": "ok", "counts": {**counts, **less}}, ""))

    assert Instructions(
        90, exact=False, windows=(Window(10, 1_020), Window(10, 1_000)), spread=2, loop=10
    ) == (outcome.instructions)
    assert FunctionCosts(
        10,
        (
            FunctionCost("libc10.so", "add.cpp", "at::add(T, U)", 600, 600),
            FunctionCost("", "???", "main", 400, None),
        ),
    ) == (outcome.functions)
    assert (0, 1) == (nothing.per_run, nothing.spread)


@pytest.mark.slow
@pytest.mark.thorough
def test_a_case_is_counted(tmp_path: Path) -> None:
    """In windows, of which functions are the parts; torch takes counts and times for its own."""
    case = stated("y = x + 1", "x = torch.ones(4)")
    outcome = measured(tmp_path, case, counts=True)
    instructions, functions, times = counts_of(outcome), outcome.functions, outcome.times
    assert functions is not None
    assert times is not None
    record = Record.of(case, BUILD.name, outcome)
    stats = callgrind_stats(record).as_standardized()

    assert [NUMBER] * REPEATS == [window.runs for window in instructions.windows]
    assert 1_000 < instructions.per_run < 100_000
    assert instructions.windows[0].instructions == sum(cost.exclusive for cost in functions.costs)
    assert any("libtorch" in cost.library and cost.exclusive > 0 for cost in functions.costs)
    assert stats.counts() > 0
    assert 0 == stats.delta(stats).sum()
    assert pytest.approx(times.median_s) == measurement(record).median
