"""What Dask's workers run: lanes of their machine, for a controller elsewhere.

A controller calls methods of a `Desk` on each worker. Lanes stay open from `Desk.open_lanes` to
`Desk.close_lanes`, or until nothing was heard of their controller for some minutes.

Arguments and what is returned are values as JSON, and nothing is pickled.
"""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from typing import Any, TypeVar, get_type_hints

import attrs

from instruction_counts import __version__
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.domain.build import Build, Fingerprint
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.outcomes import Machine, Outcome
from instruction_counts.domain.records import ChangedFiles
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Profile
from instruction_counts.execution.lanes import Measure, Opening
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
class Wanted:
    """The lanes of a run."""

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
class Measured:
    """What became of the orders of a case."""

    outcomes: tuple[Outcome, ...]
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


def sent(*values: Any) -> str:
    """The arguments of a method of a desk, as text."""
    return dumps([*map(dumps, values)])


def received(answer: str, method: Callable[..., T]) -> T:
    """What a method of a desk returned, by the text of its answer.

    Raises:
        BuildError, UsageError: why it returned nothing.
    """
    found = loads(answer, Answer)
    if found.error:
        raise (BuildError if found.is_of_build else UsageError)(found.error, found.remedy)
    value: T = loads(found.value, get_type_hints(method)["return"])
    return value


def for_a_worker(order: WorkOrder) -> WorkOrder:
    """An order without what only its controller reads."""
    case = attrs.evolve(order.case, metadata={}, subject=None, expected=())
    return attrs.evolve(order, case=case)


_LOOK_UP_S = 1.0


class _Run:
    """Lanes that are open for a controller."""

    def __init__(self, wanted: Wanted) -> None:
        self._notices: list[str] = []
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
        self.heard_at = time.monotonic()
        """When the controller was there."""
        watch = threading.Thread(target=self._watch, args=(wanted.silent_s,), daemon=True)
        watch.start()

    @property
    def is_closed(self) -> bool:
        """Whether it measures nothing any more."""
        return self._closed.is_set()

    def measured(self, orders: Sequence[WorkOrder]) -> tuple[Outcome, ...]:
        """What becomes of the orders of a case, on one lane."""
        with self.lanes.lane(orders, self._closed.is_set) as measure:
            if measure is None:
                raise UsageError("these lanes were closed")
            return tuple(_timed(measure, order) for order in orders)

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
        if not self.is_closed:
            self._closed.set()
            self.lanes.close()

    def _watch(self, silent_s: float) -> None:
        """Close it when nothing was heard of the controller for so long."""
        while not self._closed.wait(_LOOK_UP_S):
            if time.monotonic() > self.heard_at + silent_s:
                self.close()


def _timed(measure: Measure, order: WorkOrder) -> Outcome:
    begin = time.monotonic()
    outcome = measure(order)
    return attrs.evolve(outcome, duration_s=time.monotonic() - begin)


class Desk:
    """Where what a controller asks arrives, as an actor of Dask: without its scheduler, at once."""

    def __init__(self) -> None:
        self._run: _Run | None = None

    async def answer(self, name: str, arguments: str) -> str:
        """What the method of that name answers."""
        answer = Future[str]()
        answer.set_running_or_notify_cancel()

        def work() -> None:
            answer.set_result(self.answered(name, arguments))

        # A worker that ends, as one that was cut off does, waits for no case: servers end with it.
        threading.Thread(target=work, daemon=True).start()
        return await asyncio.wrap_future(answer)

    def answered(self, name: str, arguments: str) -> str:
        """The same, in this thread: no exception goes through Dask, which pickles them."""
        try:
            method = getattr(self, name)
            *kinds, _ = get_type_hints(method).values()
            texts = zip(loads(arguments, list[str]), kinds, strict=True)
            return dumps(Answer(dumps(method(*(loads(text, kind) for text, kind in texts)))))
        except UsageError as error:
            told = error
        except Exception as error:  # noqa: BLE001 - reported where somebody reads it
            _LOG.exception("%s failed", name)
            what = f"a worker failed: {type(error).__name__}: {error}"
            told = shortage(error) or UsageError(what, "Its log says where.")
        return dumps(Answer("", told.message, told.remedy, isinstance(told, BuildError)))

    # What can be asked

    def hello(self) -> Hello:
        """Which program this is."""
        return Hello(__version__, counting_digest())

    def probe(self, build: Build, timeout_s: float) -> BuildFacts:
        """What a build is, here."""
        return lanes_named(DEFAULT).probe(build, timeout_s)

    def open_lanes(self, wanted: Wanted) -> Opened:
        """Open the lanes of a run."""
        self._run = run = _Run(wanted)
        return Opened(run.lanes.number, run.lanes.widest, dict(run.lanes.fingerprints))

    def check(self, orders: tuple[WorkOrder, ...]) -> bool:
        """Find out whether orders can be carried out."""
        self._running().lanes.check(orders)
        return True

    def start(self, orders: tuple[WorkOrder, ...]) -> bool:
        """Begin to get ready for orders."""
        self._running().lanes.start(orders)
        return True

    def measure(self, orders: tuple[WorkOrder, ...]) -> Measured:
        """Measure the orders of a case, and tell what is new."""
        run = self._running()
        outcomes = run.measured(orders)
        return Measured(outcomes, run.news(), run.notices())

    def machine(self) -> Machine:
        """What one core can do."""
        return self._running().lanes.machine()

    def changed_files(self) -> dict[str, ChangedFiles]:
        """Files of the builds that changed since they were probed here, by the name of a build."""
        return self._running().lanes.changed_files()

    def hear(self) -> bool:
        """The controller is there."""
        return bool(self._running())

    def close_lanes(self) -> bool:
        """End all processes of a run; whether there were any."""
        run, self._run = self._run, None
        if run is not None:
            run.close()
        return run is not None

    def _running(self) -> _Run:
        if self._run is None or self._run.is_closed:
            raise UsageError("this worker has closed the lanes of this run", "Measure again.")
        self._run.heard_at = time.monotonic()
        return self._run
