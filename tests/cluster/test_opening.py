"""Which workers a run takes, and what it says of the others; the workers are scripted."""

import asyncio
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from instruction_counts import __version__
from instruction_counts.cluster.lanes import ClusterLanes, LostWorkerError, Workers, ask_any
from instruction_counts.cluster.worker import Answer, Desk, Measured, Opened
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.engines.engine import Profile
from instruction_counts.execution.lanes import Opening
from instruction_counts.storage.json_files import dumps
from instruction_counts.system.worker_tasks import counting_digest
from tests.fakes import BUILD, FACTS, FINGERPRINT, make_order
from tests.waiting import comes_true

SAME = __version__, counting_digest()
MEASURED = Outcome(Status.OK)
ASKED = Opening("fork", (FACTS,), Profile())
OPENED = Opened(2, 4, {"default": FINGERPRINT})


@attrs.define
class Scripted:
    """Workers that answer what a test says: a value, or an error that is raised."""

    answers: Mapping[str, Mapping[str, Any]]
    told: list[tuple[str, str]] = attrs.field(factory=list)
    is_left: bool = False

    @property
    def there(self) -> frozenset[str]:
        """All of them."""
        return frozenset(self.answers)

    def look(self) -> None:
        """They stay."""

    def ask(self, address: str, task: Callable[..., Any], *arguments: Any) -> Any:
        """What the test says."""
        usual = {"hello": SAME, "open_lanes": OPENED, "check": None, "start": None}
        if task.__name__ == "measure":
            (orders,) = arguments
            usual["measure"] = Measured((MEASURED,) * len(orders), OPENED.fingerprints)
            self.told.append((address, " ".join(order.build.name for order in orders)))
        answer = (usual | self.answers[address])[task.__name__]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def tell(self, addresses: Any, task: Callable[..., Any], *_: Any) -> None:
        """Note it; an interrupt may come meanwhile."""
        for address in addresses:
            self.told.append((address, task.__name__))
            if task.__name__ == "close_lanes" and "close_lanes" in self.answers[address]:
                raise self.answers[address]["close_lanes"]

    def leave(self) -> None:
        """Nobody waits for them any longer."""
        self.is_left = True


def opened(**answers: Mapping[str, Any]) -> tuple[ClusterLanes, list[str]]:
    """Lanes of workers with these answers, and what is said."""
    said: list[str] = []
    return ClusterLanes(Scripted(answers), attrs.evolve(ASKED, notice=said.append)), said


@pytest.mark.parametrize(
    ("answers", "expected"),
    [
        ({"hello": ("0.9", "x")}, f"b has version 0.9, and this is {__version__}"),
        ({"hello": (__version__, "x")}, f"b has other code of version {__version__}"),
        ({"open_lanes": BuildError("no such build")}, "no such build"),
        ({"hello": LostWorkerError("b")}, "b is gone"),
    ],
)
def test_a_worker_that_does_not_fit_is_left_out_with_the_reason(
    answers: Mapping[str, Any], expected: str
) -> None:
    """The others measure."""
    lanes, said = opened(a={}, b=answers)

    assert 2 == lanes.number
    assert [f"b is not used: {expected}"] == [text.partition("\n")[0] for text in said]


@pytest.mark.parametrize(
    ("changes", "said_of_it"),
    [({"cpu": "Another Processor"}, "another cpu"), ({"valgrind": ""}, "no valgrind")],
)
def test_a_worker_of_another_kind_is_left_out(changes: dict[str, str], said_of_it: str) -> None:
    """Its counts would be others for reasons that are no change of the build."""
    other = {"default": attrs.evolve(FINGERPRINT, **changes)}
    lanes, said = opened(a={}, b={"open_lanes": attrs.evolve(OPENED, fingerprints=other)}, c={})

    assert 4 == lanes.number
    assert {"default": FINGERPRINT} == lanes.fingerprints
    (text,) = said
    assert text.startswith("b is not used: ")
    assert text.endswith(f"with those of most workers, as it has {said_of_it}")


def test_of_one_worker_of_each_kind_the_one_that_can_count_stays() -> None:
    """Whichever comes first."""
    cannot = {"default": attrs.evolve(FINGERPRINT, valgrind="")}
    lanes, (text,) = opened(a={"open_lanes": attrs.evolve(OPENED, fingerprints=cannot)}, b={})

    assert {"default": FINGERPRINT} == lanes.fingerprints
    assert text.startswith("a is not used: ")


def test_without_a_worker_that_fits_the_reason_is_the_error() -> None:
    """With its remedy."""
    with pytest.raises(BuildError, match="no such build"):
        opened(a={"open_lanes": BuildError("no such build")})
    with pytest.raises(UsageError, match=r"has no workers\n.*dask worker"):
        opened()


def measured(lanes: ClusterLanes) -> Outcome:
    """What becomes of a case on a lane."""
    order = make_order("add")
    with lanes.lane([order], lambda: False) as measure:
        return measure(order)


@pytest.mark.parametrize("task", ["check", "start"])
def test_a_worker_that_cannot_begin_is_left_out(task: str) -> None:
    """It may be any of them; where none can, the reason is the error."""
    no_valgrind = BuildError("Valgrind does not start")
    lanes, said = opened(a={task: no_valgrind}, b={})
    none, _ = opened(a={task: no_valgrind}, b={task: LostWorkerError("b")})

    getattr(lanes, task)([make_order("add")])
    assert MEASURED == measured(lanes)
    assert ["a is not used: Valgrind does not start"] == said
    with pytest.raises(BuildError, match="Valgrind does not start"):
        getattr(none, task)([make_order("add")])


def test_what_a_worker_cannot_measure_goes_to_another_one() -> None:
    """A fault of its machine is said, with the remedy, and ends no run."""
    lanes, said = opened(a={"measure": UsageError("a full disk", "Free some space")}, b={})
    assert MEASURED == measured(lanes)

    (text,) = said
    assert text.startswith("a cannot go on; add")
    assert text.endswith(" and its other cases go to others: a full disk\n  Free some space")


def test_all_builds_of_a_case_are_asked_for_at_once_and_another_try_alone() -> None:
    """One worker measures them on the same cores, whatever else comes meanwhile."""
    workers = Scripted({"a": {}})
    lanes = ClusterLanes(workers, ASKED)
    orders = [attrs.evolve(make_order("add"), build=Build(name)) for name in ("base", "new")]
    with lanes.lane(orders, lambda: False) as measure:
        assert [MEASURED] * 3 == [measure(order) for order in (orders[0], *orders)]

    assert [("a", "base new"), ("a", "base")] == workers.told


def test_a_case_does_not_wait_for_a_worker_that_is_gone() -> None:
    """The others have lanes, but none with so many cores."""
    wide = attrs.evolve(OPENED, widest=8)
    lanes, _ = opened(a={}, b={"open_lanes": wide, "measure": LostWorkerError("b")})
    assert 8 == lanes.widest
    order = make_order("add", num_threads=8)
    refused = pytest.raises(BuildError, match=r"no worker is left with 8 contig.*\n.*--resume")
    with lanes.lane([order], lambda: False) as measure, refused:
        measure(order)


def test_an_interrupt_while_lanes_close_waits_for_no_worker() -> None:
    """The second one: a machine that hangs may answer in minutes, or never."""
    workers = Scripted({"a": {"close_lanes": KeyboardInterrupt()}})
    lanes = ClusterLanes(workers, ASKED)
    with pytest.raises(KeyboardInterrupt):
        lanes.close()

    assert workers.is_left


def test_a_question_is_asked_of_all_workers_until_one_answers() -> None:
    """A build may lie on some of them alone; the first reason is the error."""
    nowhere, elsewhere = (BuildError(f"no such build on {name}") for name in "ab")
    gone = LostWorkerError("c")
    workers = Scripted({"a": {"probe": nowhere}, "b": {"probe": FACTS}})
    none = Scripted({"a": {"probe": nowhere}, "b": {"probe": elsewhere}, "c": {"probe": gone}})

    assert FACTS is ask_any(workers, "ab", Desk.probe, BUILD, 1.0)
    with pytest.raises(BuildError, match="no such build on a"):
        ask_any(none, "abc", Desk.probe, BUILD, 1.0)


def test_files_of_callgrind_cannot_be_asked_for() -> None:
    """They would lie on many machines."""
    asked = attrs.evolve(ASKED, profile=Profile(callgrind_out=Path("raw")))
    with pytest.raises(UsageError, match=r"Leave out --callgrind-out, or --lanes"):
        ClusterLanes(Scripted({"a": {}}), asked)


@pytest.mark.slow  # they hear of it every ten seconds
def test_workers_that_are_ready_hear_of_a_run_while_others_get_ready() -> None:
    """To make an environment takes longer than they wait for a controller."""

    class Slow(Scripted):
        def ask(self, address: str, task: Callable[..., Any], *rest: Any) -> Any:
            if (address, task.__name__) == ("b", "open_lanes"):
                comes_true(lambda: ("a", "hear") in self.told, within_s=60)
            return super().ask(address, task, *rest)

    workers = Slow({"a": {}, "b": {}})
    with closing(ClusterLanes(workers, ASKED)):
        assert ("a", "hear") in workers.told


@attrs.define
class Silent:
    """A client of a scheduler that has two workers: one answers, and one hangs from the start."""

    loop: Any
    told: list[str] = attrs.field(factory=list)

    def scheduler_info(self, **_: object) -> dict[str, Any]:
        """Both are there."""
        return {"workers": {"good": {}, "hung": {}}}

    def as_current(self) -> AbstractContextManager[None]:
        """As Dask has it."""
        return nullcontext()

    def submit(self, _: object, *, workers: list[str], **__: object) -> Any:
        """An actor on a worker."""
        return self.desk(*workers)

    async def desk(self, address: str) -> "Silent":
        """Where it answers."""
        if address == "hung":
            await asyncio.Event().wait()
        return self

    async def answer(self, task: str, _: str) -> str:
        """What it is asked."""
        self.told.append(task)
        return dumps(Answer(dumps(SAME)))


def test_a_worker_that_hangs_before_it_answers_keeps_none_from_others() -> None:
    """They hear of their controller, and so keep their lanes."""
    loop = asyncio.new_event_loop()
    threading.Thread(target=loop.run_forever, daemon=True).start()
    client = Silent(SimpleNamespace(asyncio_loop=loop))
    workers = Workers(client)
    with ThreadPoolExecutor(1) as thread:
        asked = thread.submit(workers.ask, "hung", Desk.hello)
        assert SAME == workers.ask("good", Desk.hello)
        workers.tell(["good", "hung"], Desk.hear)
        workers.leave()
        with pytest.raises(LostWorkerError):
            asked.result()

    assert ["hello", "hear"] == client.told
    loop.call_soon_threadsafe(loop.stop)
