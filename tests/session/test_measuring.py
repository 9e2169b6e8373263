"""A run that grows, one that goes on from an earlier one, and what cannot be stored meanwhile.

Tests of the store do that with real faults.
"""

import shutil
from pathlib import Path

import attrs
import pytest

from instruction_counts.cli import console
from instruction_counts.cli.output import Exporter
from instruction_counts.core.types import RuntimeMode
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.outcomes import EstimatedCycles, Machine, Outcome, Status
from instruction_counts.domain.records import Record, Run
from instruction_counts.domain.work import WorkOrder
from instruction_counts.execution.events import Silent
from instruction_counts.session.measuring import Measured, Recording
from instruction_counts.storage.json_files import read_json
from tests.cores import lanes_of
from tests.fakes import (
    BUILD,
    FINGERPRINT,
    OK,
    FakeClock,
    FakeEngine,
    exporter_to,
    failed,
    make_case,
    make_order,
    make_orders,
    make_record,
    make_run,
)
from tests.session.fakes import FakeRecorder, Remarks
from tests.waiting import comes_true

CYCLES = EstimatedCycles("a", (9, 9))
DONE = Record.of(make_order("a").case, BUILD.name, OK)


def measure(
    orders: list[WorkOrder],
    engine: FakeEngine,
    done: Run | None = None,
    exporters: list[Exporter] | None = None,
    cores: tuple[int, ...] = (0, 1),
) -> tuple[Run, bool]:
    """The run that measuring ``orders`` gives, and whether it was interrupted."""
    measured = Measured("timer", lanes_of(engine, *cores), exporters or [], console)
    found = measured.execute(orders, done)
    return found.run, found.interrupted


@pytest.mark.parametrize(
    "done",
    [
        make_record("a", outcome=failed()),
        make_record("a", outcome=Outcome(Status.SKIPPED)),
        make_record("a", outcome=attrs.evolve(OK, instructions=None)),
        make_record("a", stmt="other code"),
        make_record("a", build="other"),
        make_record("a", num_threads=2),
    ],
)
def test_anything_else_is_measured(done: Record) -> None:
    """What failed, lacks what is asked for, has other code by now, or was another case."""
    engine = FakeEngine({("a",): [OK, KeyboardInterrupt()]})
    measure([make_order("a")], engine, make_run(done))
    (order,) = {call.order for call in engine.calls}
    run, interrupted = measure([order], engine, make_run(done))

    # Until it is measured, nothing is known of it.
    assert interrupted
    assert (order.build.name, order.case.key) not in {record.identity for record in run.cases}


@pytest.mark.parametrize(
    "done",
    [
        attrs.evolve(make_run(DONE), engine="fork"),
        attrs.evolve(make_run(DONE), builds={}),
        attrs.evolve(make_run(DONE), builds={BUILD.name: attrs.evolve(FINGERPRINT, torch="1.0.0")}),
    ],
)
def test_results_of_another_engine_or_build_are_not_gone_on_with(done: Run) -> None:
    """They would be passed off as this build's."""
    with pytest.raises(DataError, match="another engine or build"):
        measure([make_order("a")], FakeEngine(), done)


@pytest.mark.parametrize(
    ("asked", "runtime", "outcome", "expected"),
    [
        ({"resources": True}, RuntimeMode.EAGER, OK, 1),
        # One that has none would be measured for ever.
        ({"resources": True}, RuntimeMode.JIT, OK, 0),
        ({"cycles": True}, RuntimeMode.EAGER, OK, 1),
        ({"cycles": True}, RuntimeMode.EAGER, attrs.evolve(OK, cycles=CYCLES), 0),
    ],
)
def test_a_case_without_what_is_asked_for_this_time_is_measured_again(
    asked: dict[str, bool], runtime: RuntimeMode, outcome: Outcome, expected: int
) -> None:
    """Resources and cycles, which other records of the same case need not have."""
    order = WorkOrder(make_case("a", runtime=runtime), BUILD, **asked)
    engine, done = FakeEngine(), make_record("a", runtime=runtime, outcome=outcome)
    measure([order], engine, make_run(done))

    assert expected == len(engine.calls)


@pytest.mark.parametrize("outcome", [OK, failed()])
def test_what_was_measured_before_stays_though_it_is_not_selected_now(outcome: Outcome) -> None:
    """Writing to the same file loses nothing, nor the reason of what failed.

    Builds stay with all that is known of them, and what the machine could do.
    """
    other, machine = attrs.evolve(FINGERPRINT, torch="2.14.0"), Machine(10**10, 10**11)
    done = make_run(make_record("a", outcome=outcome), make_record("a", build="other"))
    builds = {"other": other, BUILD.name: attrs.evolve(FINGERPRINT, caches="held")}
    done = attrs.evolve(done, builds=builds, machine=machine)
    run, _ = measure([make_order("b")], FakeEngine(), done)

    assert [("b",), ("a",), ("a",)] == [record.label for record in run.cases]
    assert [BUILD.name, BUILD.name, "other"] == [record.build for record in run.cases]
    assert (builds, machine) == (run.builds, run.machine)


def test_an_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    """What was finished is kept, in the run and in its file; it ends as one without interrupt.

    So it is after a mistake of ours. Records are in the order of the definitions, whichever lane
    finished first, and the run names what its builds' engines measured.
    """
    orders = make_orders(20)
    exporter = exporter_to(tmp_path / "r.json", FakeClock())
    broken, ours = (
        FakeEngine({("case", "2"): [error]}) for error in (KeyboardInterrupt(), ZeroDivisionError())
    )
    with pytest.raises(ZeroDivisionError):
        measure(orders, ours, None, [exporter], cores=(0,))
    crashed = read_json(tmp_path / "r.json")
    assert (2, False) == (len(crashed.cases), crashed.is_finished)
    kept, interrupted = measure(orders, broken, None, [exporter], cores=(0,))
    assert interrupted is True
    assert (2, False) == (len(kept.cases), kept.is_finished)
    assert kept.cases == read_json(tmp_path / "r.json").cases

    engine = FakeEngine()
    run, _ = measure(orders, engine, kept)
    assert [order.case.label for order in orders] == [record.label for record in run.cases]
    assert run.is_finished
    assert 18 == len(engine.calls)
    assert {BUILD.name: engine.fingerprint} == run.builds


# What is stored and written meanwhile


@pytest.mark.parametrize("made_again", ["", "3"])
def test_a_file_that_cannot_be_written_any_more_does_not_end_the_run(
    made_again: str, tmp_path: Path
) -> None:
    """All is measured and stored; which file does not have it is known, and reported once.

    Somebody removes its folder. Where it is made again, the file is written at the end.
    """
    folder, told = tmp_path / "results", Remarks()
    folder.mkdir()

    def during(order: WorkOrder) -> None:
        if order.case.label == ("case", "1"):
            shutil.rmtree(folder)
        if order.case.label == ("case", made_again):  # cases are measured while others are saved
            comes_true(lambda: told.errors)
            folder.mkdir()

    exporter, recorder = exporter_to(folder / "r.json", FakeClock(0)), FakeRecorder()
    lanes = lanes_of(FakeEngine(during=during), 0)
    measured = Measured("timer", lanes, [exporter], told, recorder).execute(make_orders(4))

    assert 4 == len(measured.run.cases)
    assert "complete" == recorder.state
    assert (frozenset() if made_again else {exporter}) == measured.unsaved
    (error,) = told.errors
    assert "r.json cannot be written: No such file" in error
    if made_again:
        assert 4 == len(read_json(folder / "r.json").cases)


class _Broken:
    """A file whose writing ends in a mistake of ours."""

    def update(self, run: Run, *, final: bool = False) -> None:
        """Fails at the end."""
        del run
        if final:
            raise ZeroDivisionError


def test_a_run_is_finished_before_its_files_are_written() -> None:
    """Whatever becomes of them, it is no run that still goes on."""
    recorder = FakeRecorder()
    with pytest.raises(ZeroDivisionError):
        Measured("timer", lanes_of(FakeEngine(), 0), [_Broken()], console, recorder).execute([])

    assert "complete" == recorder.state


# What cannot be stored waits

RECORDS = tuple(make_record(name) for name in "abcd")


def test_one_result_that_can_never_be_stored_keeps_no_other_out() -> None:
    """Those that are measured after it are stored one case later."""
    recorder = FakeRecorder(lambda name: name != "b")
    held = Recording(7, recorder, Silent(), lambda: 0.0)
    for record in RECORDS:
        held.add(record)

    assert {"a", "c"} == set(recorder.kept)


@pytest.mark.parametrize("error", [DataError("it is full"), UsageError("the run was deleted")])
@pytest.mark.parametrize("file", [Path("a b.json.gz"), None])
def test_a_recorder_that_never_answers_again_ends_no_run(
    error: UsageError, file: Path | None
) -> None:
    """Two errors are reported in all: when it begins, and at the end, with what keeps the run.

    Nothing may: every disk may be full.
    """
    recorder, remarks, kept = FakeRecorder(lambda _: False), Remarks(), []
    recorder.error = error

    def keep(run: Run) -> Path | None:
        kept.append(run.cases)
        return file

    held = Recording(7, recorder, remarks, keep=keep)
    for record in RECORDS:
        held.add(record)
    held.finish(make_run(*RECORDS), interrupted=False)
    where = "No file could be written either."
    if file is not None:
        where = (
            f"All of its results are in {file}. When the database can be written: "
            f"instruction-counts runs import --db a.db '{file}'"
        )

    assert held.is_complete is False
    assert [RECORDS] == kept
    assert 2 == len(remarks.errors)
    assert f"Run 7 is not stored as a whole: {error.message}\n  {where}" == remarks.errors[-1]


def test_a_database_that_does_not_answer_for_long_does_not_hold_up_each_case() -> None:
    """Ten seconds until a server is given up are waited for once in a while."""
    now = [0.0]

    def slow(_: str) -> bool:
        now[0] += 10
        return False

    recorder = FakeRecorder(slow)
    held = Recording(7, recorder, Silent(), lambda: now[0])
    for number in range(41):
        held.add(make_record(str(number)))
        now[0] += 10

    assert 3 == len(recorder.asked)
