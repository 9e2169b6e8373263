"""The order of work: which cases come first, and threads that take each to its lane.

How long a case takes is known from the last time it ran on this machine.
"""

import contextlib
import errno
import json
import math
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

import attrs
import tenacity
from multiprocess.pool import ThreadPool

from instruction_counts.core.types import Language
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Failure, FailureKind, Outcome, Status
from instruction_counts.domain.work import WorkOrder
from instruction_counts.execution.events import Event, Finished, Started
from instruction_counts.execution.lanes import Lanes, Measure
from instruction_counts.system.files import locked, write_atomically

# A signal that comes just before a wait does not end it: Python handles it after the wait.
_LOOK_UP_S = 0.5


def longest_first(
    orders: Iterable[WorkOrder], durations_s: Mapping[str, float], *, in_budget: bool
) -> list[WorkOrder]:
    """``orders`` by falling duration, with ``durations_s`` by definition hash; stable.

    What is not known comes first: it may take longest. C++ comes last: it is compiled while the
    others are measured. In a budget short cases come first, so that as many as possible fit.
    """

    def rank(order: WorkOrder) -> tuple[bool, float]:
        duration_s = durations_s.get(order.case.definition_hash, math.inf)
        is_cpp = order.case.autolabels.language is Language.CPP
        return (False, duration_s) if in_budget else (is_cpp, -duration_s)

    return sorted(orders, key=rank)


def read_durations(path: Path) -> dict[str, float]:
    """What was noted before; nothing where there is no file, or no usable one."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
        found = {str(key): float(value) for key, value in data.items()}
    except (OSError, ValueError, TypeError, AttributeError, OverflowError, RecursionError):
        return {}
    return found if all(map(math.isfinite, found.values())) else {}


def note_durations(path: Path, durations_s: Mapping[str, float]) -> None:
    """Add how long cases took, by definition hash; others may add theirs at the same time.

    What cannot be written is not remembered: it costs an order of work, and no run.
    """
    with contextlib.suppress(OSError), locked(path):
        known = {**read_durations(path), **durations_s}
        write_atomically(path, json.dumps(known, allow_nan=False))


def refused(order: WorkOrder, lanes: Lanes) -> Outcome | None:
    """The outcome of an order that these lanes can never carry out; None for any other."""
    reason = order.refusal
    if not reason and order.cores > lanes.widest:
        reason = f"needs {order.cores} contiguous cores, but this run has {lanes.widest}"
    if not reason:
        return None
    return Outcome(Status.SKIPPED, failure=Failure(FailureKind.REFUSED, reason))


def execute(
    orders: Sequence[WorkOrder],
    lanes: Lanes,
    *,
    clock: Callable[[], float] = time.monotonic,
    budget_s: float | None = None,
    at_once: int | None = None,
) -> Generator[Event]:
    """Carry out ``orders`` on ``lanes``; when ``budget_s`` is used up, no further case starts.

    ``at_once`` is how many cases are measured at a time; None is as many as there are lanes.

    Orders of one case that follow each other are carried out by one lane, on the same cores: what
    drifts meanwhile (a clock, a neighbour) then meets all builds alike.

    Closing the iterator early (an interrupt does) closes the lanes before it returns. At its end
    they can carry out more; whoever opened them closes them.
    """
    work = _Work(orders, lanes, clock, budget_s)
    threads: ThreadPool | None = None
    try:
        lanes.start(orders)
        number = at_once or lanes.number
        threads = _threads(number)
        for _ in range(number):
            threads.apply_async(work.carry_out)
        unfinished = len(orders)
        while unfinished:
            try:
                event = work.events.get(timeout=_LOOK_UP_S)
            except queue.Empty:
                continue
            if isinstance(event, BaseException):
                raise event
            unfinished -= isinstance(event, Finished)
            yield event
    except BaseException:
        work.stop()
        raise
    finally:
        if threads is not None:
            threads.close()
            threads.join()


def _threads(number: int) -> ThreadPool:
    try:
        return ThreadPool(number)
    except OSError as error:
        if error.errno not in {errno.ENOENT, errno.EACCES, errno.EROFS}:
            raise
        remedy = "Mount it, and let this user write to it."
        raise UsageError(f"locks need /dev/shm: {error.strerror}", remedy) from error
    except AttributeError as error:
        # It cannot end the threads that it has where one does not start, and hides why.
        raise error.__context__ or error from None


class _Work:
    """What the threads share: the orders that wait, and the events that they report."""

    def __init__(
        self,
        orders: Sequence[WorkOrder],
        lanes: Lanes,
        clock: Callable[[], float],
        budget_s: float | None,
    ) -> None:
        self.events: queue.SimpleQueue[Event | BaseException] = queue.SimpleQueue()
        self._waiting = list(orders)
        self._taking = threading.Lock()
        self._lanes, self._clock = lanes, clock
        self._budget_s = budget_s
        self._end = math.inf if budget_s is None else clock() + budget_s
        self._stopping = threading.Event()

    def carry_out(self) -> None:
        """What one thread does until no order waits."""
        try:
            while not self._stopping.is_set() and (orders := self._next_case()):
                self._carry_out_case(orders)
        except BaseException as error:  # noqa: BLE001 - reported in the thread that decides
            self.events.put(error)

    def stop(self) -> None:
        """End all processes; threads end after the order at hand."""
        self._stopping.set()
        self._lanes.close()

    def _next_case(self) -> Sequence[WorkOrder]:
        """All orders of the case that is next; none where none waits."""
        with self._taking:
            first = self._waiting[:1]
            taken = [*takewhile(lambda order: order.case == first[0].case, self._waiting)]
            del self._waiting[: len(taken)]
            return taken

    def _carry_out_case(self, orders: Sequence[WorkOrder]) -> None:
        with self._lanes.lane(orders, self._stopping.is_set) as measure:
            if measure is None:
                return  # stopped while it waited
            if self._budget_s is not None and self._clock() >= self._end:
                with self._taking:
                    orders, self._waiting = [*orders, *self._waiting], []
                for order in orders:
                    self.events.put(Finished(order, Outcome.out_of_time(self._budget_s)))
                return
            for order in orders:
                if self._stopping.is_set():
                    return
                self.events.put(Started(order))
                self.events.put(Finished(order, self._outcome_of(order, measure)))

    def _outcome_of(self, order: WorkOrder, measure: Measure) -> Outcome:
        begin = self._clock()
        attempts = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(1 + order.retries),
            retry=tenacity.retry_if_result(self._is_worth_retrying),
            retry_error_callback=lambda state: state.outcome.result(),  # type: ignore[union-attr]
        )
        outcome = attempts(measure, order)
        number = int(attempts.statistics["attempt_number"])
        # A lane elsewhere may have measured all orders of the case when it was asked for the first.
        duration_s = outcome.duration_s or self._clock() - begin
        return attrs.evolve(outcome, duration_s=duration_s, attempts=number)

    def _is_worth_retrying(self, outcome: Outcome) -> bool:
        failure = outcome.failure
        return (
            failure is not None and failure.kind.may_pass_on_retry and not self._stopping.is_set()
        )
