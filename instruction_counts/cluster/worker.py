"""What Dask's workers run: lanes of their machine, for a controller elsewhere.

Each task takes a text and returns one. Lanes stay open from `open_lanes` to `close_lanes`, or
until nothing was heard of their controller for some minutes.

Messages in both directions are values as JSON, and nothing is pickled.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import logging
import queue
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, wait
from typing import Any, TypeVar

import attrs

from instruction_counts import __version__
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.domain.build import Build, Fingerprint
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.outcomes import Machine, Outcome
from instruction_counts.domain.records import ChangedFiles
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Profile
from instruction_counts.execution.lanes import Lanes, Opening
from instruction_counts.execution.local_lanes import DEFAULT, lanes_named
from instruction_counts.storage.json_files import dumps, loads
from instruction_counts.system.shortages import shortage
from instruction_counts.system.worker_tasks import counting_digest

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


@attrs.frozen
class Hello:
    """Which program a worker has: that of the controller, or it is not used."""

    version: str
    counted_by: str
    """A digest of what counting processes execute."""


@attrs.frozen
class Asked:
    """A build to find out about."""

    build: Build
    timeout_s: float


@attrs.frozen
class Wanted:
    """The lanes of a run."""

    run: str
    """Names them; no two are alike."""
    engine: str
    builds: tuple[Build, ...]
    profile: Profile
    timeout_s: float
    jobs: int | None = None
    cores: str | None = None
    lanes: str = DEFAULT
    """Their kind, on the worker."""
    silent_s: float = 300.0
    """They are closed when nothing was heard of the controller for so long."""


@attrs.frozen
class Opened:
    """What lanes a worker has opened."""

    number: int
    widest: int
    """The most contiguous cores that a case can have there."""
    fingerprints: dict[str, Fingerprint]
    """By the name of the build."""


@attrs.frozen
class Orders:
    """Orders for the lanes of a run."""

    run: str
    orders: tuple[WorkOrder, ...]
    slot: str = ""
    """Which of its lanes measures; it keeps its cores while orders of the same case follow."""


@attrs.frozen
class Measured:
    """What became of an order."""

    outcome: Outcome
    fingerprints: dict[str, Fingerprint] | None = None
    """As they are known by now, where that is new."""
    notices: tuple[str, ...] = ()
    """What a person should know."""


@attrs.frozen
class Answer:
    """What came of a request: a value, or why there is none."""

    value: str = ""
    error: str = ""
    remedy: str = ""
    is_of_build: bool = False


def refusal(error: UsageError) -> Answer:
    """The answer that says why there is no value."""
    return Answer("", error.message, error.remedy, isinstance(error, BuildError))


def value_of(answer: Answer, kind: type[T]) -> T:
    """The value of an answer.

    Raises:
        BuildError, UsageError: there is none.
    """
    if answer.error:
        raise (BuildError if answer.is_of_build else UsageError)(answer.error, answer.remedy)
    return loads(answer.value, kind)


def for_a_worker(order: WorkOrder) -> WorkOrder:
    """An order without what only its controller reads."""
    case = attrs.evolve(order.case, metadata={}, subject=None, expected=())
    return attrs.evolve(order, case=case)


_LOOK_UP_S = 1.0
_KEPT_S = 0.2
"""For so long the cores of a case wait for its next build."""


class _Slot:
    """A lane that keeps its cores from one order of a case to the next, in a thread of its own."""

    def __init__(self, lanes: Lanes, is_closed: Callable[[], bool]) -> None:
        self._lanes, self._is_closed = lanes, is_closed
        self._waiting: queue.SimpleQueue[tuple[WorkOrder, Future[Outcome]]] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    def measure(self, order: WorkOrder) -> Outcome:
        """Measure on the cores that its case has, or on others from now on."""
        outcome: Future[Outcome] = Future()
        self._waiting.put((order, outcome))
        while not (outcome.done() or self._is_closed()):
            wait([outcome], _LOOK_UP_S)
        if outcome.done():
            return outcome.result()
        raise UsageError("these lanes were closed")

    def _work(self) -> None:
        following = None
        while not self._is_closed():
            following = self._measure_case(following) if following else self._next(_LOOK_UP_S)

    def _next(self, within_s: float) -> tuple[WorkOrder, Future[Outcome]] | None:
        with contextlib.suppress(queue.Empty):
            return self._waiting.get(timeout=within_s)
        return None

    def _measure_case(
        self, asked: tuple[WorkOrder, Future[Outcome]] | None
    ) -> tuple[WorkOrder, Future[Outcome]] | None:
        """Measure an order, and those of its case that follow soon; the next one of another."""
        assert asked is not None
        try:
            self._lanes.wait()
            case = asked[0].case
            with self._lanes.lane(asked[0].cores, self._is_closed) as measure:
                while measure is not None and asked is not None and asked[0].case == case:
                    order, outcome = asked
                    outcome.set_result(measure(order))
                    asked = self._next(_KEPT_S)
        except BaseException as error:  # noqa: BLE001 - raised where somebody waits
            if asked is not None and not asked[1].done():
                asked[1].set_exception(error)
            return None
        return asked


class _Run:
    """Lanes that are open for a controller."""

    def __init__(self, wanted: Wanted) -> None:
        self._notices: list[str] = []
        self._slots: dict[str, _Slot] = {}
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._told: dict[str, Fingerprint] = {}
        kind = lanes_named(wanted.lanes)
        facts = tuple(kind.probe(build, wanted.timeout_s) for build in wanted.builds)
        asked = Opening(
            *(wanted.engine, facts, wanted.profile, wanted.jobs, wanted.cores),
            self._notices.append,
        )
        self.lanes = kind.open(asked)
        self.silent_s, self.heard_at = wanted.silent_s, time.monotonic()
        """When the controller was there, and for how long it may be silent."""

    def slot(self, name: str) -> _Slot:
        """The lane of that name."""
        with self._lock:
            if name not in self._slots:
                self._slots[name] = _Slot(self.lanes, self._closed.is_set)
            return self._slots[name]

    def news(self) -> dict[str, Fingerprint] | None:
        """The fingerprints, where they are others than they were."""
        found = dict(self.lanes.fingerprints)
        with self._lock:
            is_new, self._told = found != self._told, found
        return found if is_new else None

    def notices(self) -> tuple[str, ...]:
        """What is to be told, once."""
        with self._lock:
            found = tuple(self._notices)
            del self._notices[: len(found)]
        return found

    def close(self) -> None:
        """End all of its processes."""
        self._closed.set()
        self.lanes.close()


_RUNS: dict[str, _Run] = {}
_LOCK = threading.Lock()


def _run(name: str) -> _Run:
    with _LOCK:
        run = _RUNS.get(name)
    if run is None:
        raise UsageError("this worker has closed the lanes of this run", "Measure again.")
    run.heard_at = time.monotonic()
    return run


_TASKS: dict[str, Callable[[str], str]] = {}
"""What a controller can ask for, by name."""


def _answering(function: Callable[[str], Any]) -> Callable[[str], str]:
    """A task, with its value as an answer: no exception goes through Dask, which pickles them."""

    @functools.wraps(function)
    def answer(text: str) -> str:
        try:
            return dumps(Answer(dumps(function(text))))
        except UsageError as error:
            return dumps(refusal(error))
        except Exception as error:  # noqa: BLE001 - reported where somebody reads it
            _LOG.exception("%s failed", function.__name__)
            what = f"a worker failed: {type(error).__name__}: {error}"
            fault = UsageError(what, "Its log says where.")
            return dumps(refusal(shortage(error) or fault))

    _TASKS[function.__name__] = answer
    return answer


@_answering
def hello(_: str) -> Hello:
    """Which program this is."""
    return Hello(__version__, counting_digest())


@_answering
def probe(text: str) -> BuildFacts:
    """What a build is, here."""
    asked = loads(text, Asked)
    return lanes_named(DEFAULT).probe(asked.build, asked.timeout_s)


@_answering
def open_lanes(text: str) -> Opened:
    """Open the lanes of a run."""
    wanted = loads(text, Wanted)
    run = _Run(wanted)
    with _LOCK:
        is_first, _RUNS[wanted.run] = not _RUNS, run
    if is_first:
        threading.Thread(target=_close_what_is_forgotten, daemon=True).start()
    fingerprints = dict(run.lanes.fingerprints)
    return Opened(run.lanes.number, run.lanes.widest, fingerprints)


@_answering
def check(text: str) -> bool:
    """Find out whether orders can be carried out."""
    asked = loads(text, Orders)
    _run(asked.run).lanes.check(asked.orders)
    return True


@_answering
def start(text: str) -> bool:
    """Begin to get ready for orders."""
    asked = loads(text, Orders)
    _run(asked.run).lanes.start(asked.orders)
    return True


@_answering
def measure(text: str) -> Measured:
    """Measure an order, and tell what is new."""
    asked = loads(text, Orders)
    run = _run(asked.run)
    (order,) = asked.orders
    outcome = run.slot(asked.slot).measure(order)
    return Measured(outcome, run.news(), run.notices())


@_answering
def machine(text: str) -> Machine:
    """What one core can do."""
    return _run(text).lanes.machine()


@_answering
def changed_files(text: str) -> dict[str, ChangedFiles]:
    """Files of the builds that changed since they were probed here, by the name of the build."""
    return _run(text).lanes.changed_files()


@_answering
def hear(text: str) -> bool:
    """The controller is there."""
    return bool(_run(text))


@_answering
def close_lanes(text: str) -> bool:
    """End all processes of a run; whether there were any."""
    with _LOCK:
        run = _RUNS.pop(text, None)
    if run is not None:
        run.close()
    return run is not None


def _close_what_is_forgotten() -> None:
    """Ends with the last run."""
    while True:
        time.sleep(_LOOK_UP_S)
        with _LOCK:
            if not _RUNS:
                return
            known = dict(_RUNS)
        for name, run in known.items():
            if time.monotonic() > run.heard_at + run.silent_s:
                close_lanes(name)


class Desk:
    """Where a controller's texts arrive, as an actor of Dask: without its scheduler, at once."""

    async def answer(self, task: str, text: str) -> str:
        """What a task answers."""
        function, answer = _TASKS[task], Future[str]()
        answer.set_running_or_notify_cancel()
        # A worker that ends, as one that was cut off does, waits for no case: servers end with it.
        thread = threading.Thread(target=lambda: answer.set_result(function(text)), daemon=True)
        thread.start()
        return await asyncio.wrap_future(answer)
