"""Lanes: a thread pool that carries out work orders, and yields what happens as events."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from functools import partial
from itertools import takewhile

import attrs
import tenacity
from multiprocess.pool import ThreadPool

from instruction_counts.domain.outcomes import Failure, FailureKind, Outcome, Status
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.engine import Engine
from instruction_counts.execution.budget import Budget
from instruction_counts.execution.cores import CorePool
from instruction_counts.execution.events import Event, Finished, Started
from instruction_counts.system.folders import WorkFolder

Clock = Callable[[], float]

# A signal that comes just before a wait does not end it: Python handles it after the wait.
_LOOK_UP_S = 0.5


def refused(order: WorkOrder, pool: CorePool) -> Outcome | None:
    """The outcome of an order that this run can never carry out; None for any other."""
    reason = order.refusal
    if not reason and order.cores > pool.widest:
        reason = f"needs {order.cores} contiguous cores, but this run has {pool.widest}"
    if not reason:
        return None
    return Outcome(Status.SKIPPED, failure=Failure(FailureKind.REFUSED, reason))


def execute(
    orders: Sequence[WorkOrder],
    engines: Mapping[str, Engine],
    pool: CorePool,
    jobs: int,
    clock: Clock = time.monotonic,
    budget: Budget | None = None,
) -> Generator[Event]:
    """Carry out ``orders`` on ``jobs`` lanes; ``engines`` are by build name.

    With a ``budget`` the most likely to have changed are carried out first, and when it is used up
    no further case starts.

    Orders of one case that follow each other are carried out by one lane, on the same cores: what
    drifts meanwhile (a clock, a neighbour) then meets all builds alike.

    Closing the iterator early (an interrupt does) ends every process before it returns. At its end
    the engines can carry out more; whoever made them closes them.
    """
    if budget is not None:
        orders = budget.in_order(orders)  # engines prepare what comes first
    lanes = _Lanes(orders, engines, pool, clock, budget)
    workers: ThreadPool | None = None
    try:
        for engine in engines.values():
            mine = [order for order in orders if engines[order.build.name] is engine]
            engine.start(mine, partial(pool.reserve, 1))
        workers = _threads(jobs)
        if budget is not None:
            budget.begin()
        for _ in range(jobs):
            workers.apply_async(lanes.work)
        unfinished = len(orders)
        while unfinished:
            try:
                event = lanes.events.get(timeout=_LOOK_UP_S)
            except queue.Empty:
                continue
            if isinstance(event, BaseException):
                raise event
            unfinished -= isinstance(event, Finished)
            yield event
    except BaseException:
        lanes.stop()
        raise
    finally:
        if workers is not None:
            workers.close()
            workers.join()


def _threads(number: int) -> ThreadPool:
    try:
        return ThreadPool(number)
    except AttributeError as error:
        # It cannot end the threads that it has where one does not start, and hides why.
        raise error.__context__ or error from None


class _Lanes:
    """What the lanes share: the orders that wait, and the events that they report."""

    def __init__(
        self,
        orders: Sequence[WorkOrder],
        engines: Mapping[str, Engine],
        pool: CorePool,
        clock: Clock,
        budget: Budget | None,
    ) -> None:
        self.events: queue.SimpleQueue[Event | BaseException] = queue.SimpleQueue()
        self._waiting = list(orders)
        self._taking = threading.Lock()
        self._engines, self._pool, self._clock = engines, pool, clock
        self._budget = budget
        self._stopping = threading.Event()

    def work(self) -> None:
        """What one lane does until no order waits."""
        try:
            if len(self._engines) > 1:
                # An engine that still starts on some core would show in the times of the others.
                for engine in self._engines.values():
                    engine.wait()
            while not self._stopping.is_set() and (orders := self._next_case()):
                self._carry_out(orders)
        except BaseException as error:  # noqa: BLE001 - reported in the thread that decides
            self.events.put(error)

    def stop(self) -> None:
        """End all processes; lanes leave after the order at hand."""
        self._stopping.set()
        # Every engine, also where another interrupt cuts the end of one short.
        with contextlib.ExitStack() as stack:
            for engine in self._engines.values():
                stack.callback(engine.close)

    def _next_case(self) -> Sequence[WorkOrder]:
        """All orders of the case that is next; none where none waits."""
        with self._taking:
            first = self._waiting[:1]
            taken = [*takewhile(lambda order: order.case == first[0].case, self._waiting)]
            del self._waiting[: len(taken)]
            return taken

    def _rest(self) -> Sequence[WorkOrder]:
        """All orders that wait; none waits any more."""
        with self._taking:
            taken, self._waiting = self._waiting, []
            return taken

    def _carry_out(self, orders: Sequence[WorkOrder]) -> None:
        with self._pool.reserve(orders[0].cores, self._stopping.is_set) as cores:
            if not cores:
                return  # stopped while it waited
            if self._budget is not None and self._budget.is_used_up:
                for order in (*orders, *self._rest()):
                    self.events.put(Finished(order, self._budget.outcome))
                return
            for order in orders:
                if self._stopping.is_set():
                    return
                self.events.put(Started(order))
                self.events.put(Finished(order, self._outcome_of(order, cores)))

    def _outcome_of(self, order: WorkOrder, cores: tuple[int, ...]) -> Outcome:
        begin = self._clock()
        attempts = tenacity.Retrying(
            stop=tenacity.stop_after_attempt(1 + order.retries),
            retry=tenacity.retry_if_result(self._is_worth_retrying),
            retry_error_callback=lambda state: state.outcome.result(),  # type: ignore[union-attr]
        )
        outcome = attempts(self._measure, order, cores)
        number = int(attempts.statistics["attempt_number"])
        return attrs.evolve(outcome, duration_s=self._clock() - begin, attempts=number)

    def _measure(self, order: WorkOrder, cores: tuple[int, ...]) -> Outcome:
        with WorkFolder() as folder:
            return self._engines[order.build.name].measure(order, cores, folder)

    def _is_worth_retrying(self, outcome: Outcome) -> bool:
        failure = outcome.failure
        return (
            failure is not None and failure.kind.may_pass_on_retry and not self._stopping.is_set()
        )
