"""What Dask's workers run: lanes of their machine, for a controller elsewhere.

A controller calls methods of a `Desk` on each worker. Lanes stay open from `Desk.open_lanes` to
`Desk.close_lanes`, or until nothing was heard of their controller for some minutes.

Arguments and what is returned are values as JSON, and nothing is pickled.
"""

import asyncio
import logging
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar, get_type_hints

import attrs

from instruction_counts import __version__
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.domain.build import Build, Fingerprint
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.outcomes import Outcome
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Profile
from instruction_counts.execution.lanes import Lanes, Measure, Opening
from instruction_counts.execution.local_lanes import DEFAULT, lanes_named
from instruction_counts.storage.json_files import dumps, loads
from instruction_counts.system.shortages import shortage
from instruction_counts.system.worker_tasks import counting_digest

T = TypeVar("T")
_LOG = logging.getLogger(__name__)


@attrs.frozen
class Wanted:
    """The lanes of a run."""

    engine: str
    builds: tuple[Build, ...]
    profile: Profile
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
    fingerprints: dict[str, Fingerprint]
    """As they are known by now."""
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
    kind = get_type_hints(method)["return"]
    value: T = loads(found.value, Any if kind is type(None) else kind)
    return value


def for_a_worker(order: WorkOrder) -> WorkOrder:
    """An order without what only its controller reads."""
    case = attrs.evolve(order.case, metadata={}, subject=None, expected=())
    return attrs.evolve(order, case=case)


_LOOK_UP_S = 1.0
_TIMEOUT_S = 600.0


def _timed(measure: Measure, order: WorkOrder) -> Outcome:
    begin = time.monotonic()
    outcome = measure(order)
    return attrs.evolve(outcome, duration_s=time.monotonic() - begin)


class Desk:
    """Where what a controller asks arrives, as an actor of Dask: without its scheduler, at once.

    It has the lanes of one run. What is asked is a method of it, or of these.
    """

    def __init__(self) -> None:
        self._lanes: Lanes | None = None
        self._closed = threading.Event()
        self._heard_at = 0.0
        """When the controller was there."""
        self._notices: list[str] = []
        self._lock = threading.Lock()

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
            stated, owner = (Desk, self) if hasattr(Desk, name) else (Lanes, self._running())
            *kinds, _ = get_type_hints(getattr(stated, name)).values()
            texts = zip(loads(arguments, list[str]), kinds, strict=True)
            given = [loads(text, kind) for text, kind in texts]
            return dumps(Answer(dumps(getattr(owner, name)(*given))))
        except UsageError as error:
            told = error
        except Exception as error:  # noqa: BLE001 - reported where somebody reads it
            _LOG.exception("%s failed", name)
            what = f"a worker failed: {type(error).__name__}: {error}"
            told = shortage(error) or UsageError(what, "Its log says where.")
        return dumps(Answer("", told.message, told.remedy, isinstance(told, BuildError)))

    # What can be asked

    def hello(self) -> tuple[str, str]:
        """Which program this is: its version, and a digest of what counting processes execute."""
        return __version__, counting_digest()

    def probe(self, build: Build, timeout_s: float) -> BuildFacts:
        """What a build is, here."""
        return lanes_named(DEFAULT).probe(build, timeout_s)

    def open_lanes(self, wanted: Wanted) -> Opened:
        """Open the lanes of a run."""
        kind = lanes_named(wanted.lanes)
        facts = tuple(kind.probe(build, _TIMEOUT_S) for build in wanted.builds)
        asked = Opening(
            *(wanted.engine, facts, wanted.profile, wanted.jobs, wanted.cores),
            self._notices.append,
        )
        self._lanes = lanes = kind.open(asked)
        self._heard_at = time.monotonic()
        watch = threading.Thread(target=self._watch, args=(wanted.silent_s,), daemon=True)
        watch.start()
        return Opened(lanes.number, lanes.widest, dict(lanes.fingerprints))

    def measure(self, orders: tuple[WorkOrder, ...]) -> Measured:
        """Measure the orders of a case on one lane, and tell what is new, once."""
        lanes = self._running()
        with lanes.lane(orders, self._closed.is_set) as measure:
            if measure is None:
                raise UsageError("these lanes were closed")
            outcomes = tuple(_timed(measure, order) for order in orders)
        with self._lock:
            notices = tuple(self._notices)
            del self._notices[: len(notices)]
        return Measured(outcomes, dict(lanes.fingerprints), notices)

    def hear(self) -> None:
        """The controller is there."""
        self._running()

    def close_lanes(self) -> None:
        """End all processes of a run."""
        if self._lanes is not None and not self._closed.is_set():
            self._closed.set()
            self._lanes.close()

    def _running(self) -> Lanes:
        if self._lanes is None or self._closed.is_set():
            raise UsageError("this worker has closed the lanes of this run", "Measure again.")
        self._heard_at = time.monotonic()
        return self._lanes

    def _watch(self, silent_s: float) -> None:
        """Close them when nothing was heard of the controller for so long."""
        while not self._closed.wait(_LOOK_UP_S):
            if time.monotonic() > self._heard_at + silent_s:
                self.close_lanes()
