"""Orders of work and budgets; every order has its outcome, however its measurement ends."""

import contextlib
import os
import sys
import threading
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import attrs
import pytest

from instruction_counts.core.types import Language
from instruction_counts.domain.build import Build
from instruction_counts.domain.outcomes import Failure, FailureKind, Outcome, Status
from instruction_counts.domain.work import WorkOrder
from instruction_counts.execution.events import Event, Finished, Started
from instruction_counts.execution.scheduler import (
    execute,
    longest_first,
    note_durations,
    read_durations,
    refused,
)
from tests.cores import lanes_of
from tests.fakes import BUILD, OK, FakeClock, FakeEngine, failed, make_case, make_order, make_orders
from tests.process import ROOT, called

LABEL = ("add",)
MAY_PASS = [FailureKind.EXIT, FailureKind.SIGNAL, FailureKind.TIMEOUT]


def run(
    orders: list[WorkOrder], engine: FakeEngine, cores: tuple[int, ...] = (0, 1), jobs: int = 2
) -> list[Event]:
    """All events of carrying out ``orders``."""
    return list(execute(orders, lanes_of(engine, *cores, number=jobs)))


def outcomes(events: list[Event]) -> dict[WorkOrder, Outcome]:
    """The outcome of each order."""
    return {event.order: event.outcome for event in events if isinstance(event, Finished)}


@pytest.mark.parametrize(
    ("number", "cores", "jobs"), [(0, (0,), 1), (20, (0,), 3), (20, (0, 1), 2), (20, (0, 2, 3), 8)]
)
def test_every_order_is_started_and_then_finished_once(
    number: int, cores: tuple[int, ...], jobs: int
) -> None:
    """Whatever the number of lanes and cores; without orders nothing happens."""
    orders = make_orders(number)
    events = run(orders, FakeEngine(), cores, jobs)
    started, finished = (
        {event.order: place for place, event in enumerate(events) if type(event) is kind}
        for kind in (Started, Finished)
    )

    assert 2 * number == len(events)
    assert set(orders) == finished.keys()
    assert all(started[order] < finished[order] for order in orders)


@pytest.mark.parametrize("kind", FailureKind)
def test_a_failure_is_an_outcome_and_only_what_may_pass_is_tried_again(kind: FailureKind) -> None:
    """It costs its own case and nothing else; an exception comes again with the same code."""
    orders = [make_order("bad", retries=1), make_order("good", retries=1)]
    engine = FakeEngine({("bad",): [failed(kind)]})
    ended = outcomes(run(orders, engine))

    bad = Status.TIMEOUT if kind is FailureKind.TIMEOUT else Status.FAILED
    assert [bad, Status.OK] == [ended[order].status for order in orders]
    assert (3 if kind in MAY_PASS else 2) == len(engine.calls)


@pytest.mark.parametrize(
    ("retries", "answers", "status", "attempts"),
    [
        (0, [failed(FailureKind.SIGNAL)], Status.FAILED, 1),
        (3, [failed(FailureKind.SIGNAL)], Status.FAILED, 4),
        (5, [failed(FailureKind.EXIT), OK], Status.OK, 2),
    ],
)
def test_attempts_are_counted(
    retries: int, answers: list[Outcome], status: Status, attempts: int
) -> None:
    """A case that never passes keeps its last failure; one that passes in the end is not steady."""
    order = make_order(*LABEL, retries=retries)
    events = execute([order], lanes_of(FakeEngine({LABEL: answers}), 0), clock=FakeClock(step=2.5))
    outcome = outcomes(list(events))[order]

    assert (status, attempts) == (outcome.status, outcome.attempts)
    # From the first attempt to the end of the last.
    assert 2.5 == outcome.duration_s


class InterruptedEngine(FakeEngine):
    """An engine that an interrupt reaches while it starts or ends."""

    def __init__(self, when: str) -> None:
        super().__init__()
        begin = getattr(self, when)

        def interrupted(*args: object) -> None:
            begin(*args)
            raise KeyboardInterrupt

        setattr(self, when, interrupted)


@pytest.mark.parametrize("when", ["start", "close"])
def test_an_interrupt_while_one_engine_starts_or_ends_closes_the_others(when: str) -> None:
    """Ctrl-C may come twice; what the other engines run would go on without anybody."""
    interrupted = {name: InterruptedEngine(when) for name in ("one", "two")}
    engines = {**interrupted, "three": FakeEngine()}
    orders = [WorkOrder(make_case("a"), Build(name)) for name in engines]
    events = execute(orders, lanes_of(engines, 0, number=1))
    with pytest.raises(KeyboardInterrupt), contextlib.closing(events):
        next(events)

    assert ["one", "two", "three"] == [
        name for name, engine in engines.items() if engine.closed.is_set()
    ]


def test_engines_are_started_with_their_orders_on_a_core_of_their_own() -> None:
    """So that they can get ready for what is to come."""
    engine = FakeEngine()
    orders = make_orders(2)
    run(orders, engine, cores=(4, 6))

    assert [(orders, (4,))] == engine.started
    # At the end they can carry out more: whoever made them closes them.
    assert not engine.closed.is_set()


@pytest.mark.parametrize("answer", [OK, failed(FailureKind.SIGNAL)])
def test_closing_early_leaves_no_lane_behind(answer: Outcome) -> None:
    """Those that wait for an order or for cores start nothing more; every thread has ended.

    A case is not tried again whose process died because the run did.
    """
    before = set(threading.enumerate())
    orders = make_orders(10, retries=9)
    # Cases end when the engine is closed, as those of killed processes do.
    engine = FakeEngine(
        {order.case.label: [answer] for order in orders}, lambda _: engine.closed.wait(300)
    )
    events = execute(orders, lanes_of(engine, 0, number=3))
    next(events)
    events.close()

    assert 1 == len(engine.calls)
    assert set() == {thread for thread in threading.enumerate() if thread.is_alive()} - before


def test_builds_take_turns_on_one_lane() -> None:
    """What drifts meets both of them, case by case, on the same cores."""
    engines = {"base": FakeEngine(), "new": FakeEngine()}
    cases = [make_case(str(number)) for number in range(4)]
    orders = [WorkOrder(case, Build(name)) for case in cases for name in engines]
    events = list(execute(orders, lanes_of(engines, 0, 1, number=2)))
    cores = [
        [(call.order.case, call.cores) for call in engine.calls] for engine in engines.values()
    ]
    started = [event.order for event in events if isinstance(event, Started)]
    finished = [event.order for event in events if isinstance(event, Finished)]

    assert sorted(cores[0], key=repr) == sorted(cores[1], key=repr)
    assert all(
        finished.index(base) < finished.index(new) and started.index(base) < started.index(new)
        for base, new in zip(orders[::2], orders[1::2], strict=True)
    )


@pytest.mark.parametrize(("names", "waits"), [(("base",), False), (("base", "new"), True)])
def test_several_builds_are_all_ready_before_the_first_case(
    names: tuple[str, ...], waits: bool
) -> None:
    """A server that still starts would show in the times of the other builds."""
    engines = {name: FakeEngine() for name in names}
    orders = [WorkOrder(make_case("a"), Build(name)) for name in engines]
    list(execute(orders, lanes_of(engines, 0, number=1)))

    assert [waits] * len(names) == [engine.waited.is_set() for engine in engines.values()]


def test_a_case_of_two_threads_gets_two_neighbouring_cores() -> None:
    """A lone core is never part of it."""
    engine = FakeEngine()
    run([make_order(num_threads=2) for _ in range(3)], engine, cores=(0, 2, 3))

    assert {(2, 3)} == {call.cores for call in engine.calls}


@pytest.mark.parametrize(
    ("cores", "too_wide"), [((0,), [2, 3]), ((0, 1), [3]), ((0, 2, 4), [2, 3]), ((0, 1, 2), [])]
)
def test_what_needs_too_many_cores_is_refused(cores: tuple[int, ...], too_wide: list[int]) -> None:
    """The case is skipped, with the reason; cores that are not neighbours do not help."""
    orders = [make_order(num_threads=count) for count in (1, 2, 3)]
    lanes = lanes_of({}, *cores)
    found = {order.cores: refused(order, lanes) for order in orders}
    reason = f"contiguous cores, but this run has {4 - len(too_wide) - 1}"

    assert {
        count: Outcome(
            Status.SKIPPED, failure=Failure(FailureKind.REFUSED, f"needs {count} {reason}")
        )
        for count in too_wide
    } == {count: outcome for count, outcome in found.items() if outcome is not None}


@pytest.mark.parametrize("answer", [OK, failed(), failed(FailureKind.TIMEOUT)])
def test_folders_are_private_empty_at_first_and_gone_afterwards(answer: Outcome) -> None:
    """Other users see nothing of a case; another try finds nothing of the one before."""
    script = {LABEL: [failed(FailureKind.EXIT), answer]}
    with contextlib.ExitStack() as stack:
        opened: list[int] = []

        def hold(_: WorkOrder) -> None:
            opened.append(os.open(engine.calls[-1].folder, os.O_RDONLY))
            stack.callback(os.close, opened[-1])

        engine = FakeEngine(script, during=hold)
        run([make_order(*LABEL, retries=1)], engine)
        # Another process may have made one of the same name since.
        links = [os.fstat(folder).st_nlink for folder in opened]

    assert [(0o700, ())] * 2 == [(call.folder_mode, call.folder_content) for call in engine.calls]
    assert [0, 0] == links


NO_ROOM_FOR_THREADS = """
import resource
from instruction_counts.execution.scheduler import execute
from tests.fakes import BUILD, FakeEngine, make_orders
from tests.cores import lanes_of

engine = FakeEngine()
(size,) = [line.split()[1] for line in open("/proc/self/status") if line.startswith("VmSize")]
room = (int(size) << 10) + (100 << 20)
resource.setrlimit(resource.RLIMIT_AS, (room, room))
try:
    list(execute(make_orders(2), lanes_of(engine, 0, number=1000)))
except RuntimeError as error:
    print(error, engine.closed.is_set(), flush=True)
import os
os._exit(0)  # the threads that did start wait for ever
"""


def test_lanes_that_cannot_start_end_the_engines() -> None:
    """The error says why."""
    done = called([sys.executable, "-c", NO_ROOM_FOR_THREADS], ROOT)

    assert ("can't start new thread True\n", "") == (done.stdout, done.stderr)


def test_a_disk_that_fills_up_is_named_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cases that cannot write fail in any way; why is said for all of them."""
    said: list[str] = []
    usage = types.SimpleNamespace(free=0)
    monkeypatch.setattr("shutil.disk_usage", lambda _: usage)
    engine = FakeEngine({("case", number): [failed()] for number in "12"})
    list(execute(make_orders(3), attrs.evolve(lanes_of(engine, 0), notice=said.append)))

    assert [True] == ["is full, and cases that write there fail" in text for text in said]


# The order of work, what is remembered for it, and budgets of time

CASES = {name: make_case(name, stmt=name) for name in "abcdef"}


@pytest.mark.parametrize(
    ("given", "known", "expected", "in_budget"),
    [
        ("ab", {"a": 0.5, "b": 30.0}, "ba", "ab"),
        ("acb", {"a": 0.5, "b": 30.0}, "cba", "abc"),
        ("acb", {}, "acb", "acb"),
        ("+cb", {"b": 9.0, "c": 5.0, "+": 1.0}, "bc+", "+cb"),
    ],
    ids=["long first", "what may have to be compiled first", "as defined", "C++ last"],
)
def test_long_cases_come_before_short_ones(
    given: str, known: dict[str, float], expected: str, in_budget: str
) -> None:
    """So that the lanes end together; the other way round, as many as possible fit in a budget.

    C++ is compiled meanwhile; in a budget it is not certain that its turn comes.
    """
    cases = {**CASES, "+": make_case("+", language=Language.CPP)}
    durations_s = {cases[name].definition_hash: seconds for name, seconds in known.items()}
    orders = [WorkOrder(cases[name], BUILD) for name in given]
    found = [
        "".join(
            order.case.label[0] for order in longest_first(orders, durations_s, in_budget=is_so)
        )
        for is_so in (False, True)
    ]

    assert [expected, in_budget] == found


def test_durations_of_two_runs_at_the_same_time_are_all_noted(tmp_path: Path) -> None:
    """Neither writes over what the other one found; newer ones replace older ones."""
    path = tmp_path / "durations.json"
    note_durations(path, {"a 0": 9.0})

    def note(name: str) -> None:
        for number in range(20):
            note_durations(path, {f"{name} {number}": 1.0})

    with ThreadPoolExecutor(2) as threads:
        [*threads.map(note, "ab")]

    expected = {f"{name} {number}": 1.0 for name in "ab" for number in range(20)}
    assert expected == read_durations(path)


@pytest.mark.parametrize(
    "content",
    [
        *("", "[1]", '{"a": "x"}', '{"a": null}', "\x00", "[" * 10_000),
        *('{"a": NaN}', f'{{"a": 1{"0" * 400}}}'),
    ],
    ids=lambda content: content[:12],
)
def test_a_damaged_file_is_no_knowledge(tmp_path: Path, content: str) -> None:
    """It costs an order of work, and no run."""
    path = tmp_path / "durations.json"
    path.write_text(content)

    assert {} == read_durations(path)
    note_durations(Path("/proc/durations.json"), {"a": 1.0})  # nor does one that cannot be written


@pytest.mark.parametrize(("budget_s", "measured"), [(0, ""), (6.5, "ab"), (100, "abcdef")])
def test_nothing_starts_when_the_budget_is_used_up(budget_s: float, measured: str) -> None:
    """A case that started is measured on all builds: half of a comparison would be none.

    Each look at the clock takes a second: one for a case, and two for each of its builds.
    """
    builds = (BUILD, Build("new", "/usr/bin/python3"))
    orders = [WorkOrder(case, build) for case in CASES.values() for build in builds]
    lanes = lanes_of({build.name: FakeEngine() for build in builds}, 0)
    events = execute(orders, lanes, clock=FakeClock(), budget_s=budget_s)
    found = {event.order: event.outcome for event in events if isinstance(event, Finished)}
    skipped = Outcome.out_of_time(budget_s)

    assert orders == [*found]
    for order, outcome in found.items():
        is_measured = order.case.label[0] in measured
        assert (OK.instructions if is_measured else None) == outcome.instructions
        assert ("" if is_measured else skipped.skipped_by_budget) == outcome.skipped_by_budget
