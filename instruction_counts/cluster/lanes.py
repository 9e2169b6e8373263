"""Lanes on Dask's workers, as the controller sees them.

Each worker is a machine with lanes of its own. They have to be of one kind, or counts would not be
comparable: those of other fingerprints than most have are left out. A case is measured by one
worker on all builds. What a worker had taken when it was lost goes to another one.
"""

import asyncio
import concurrent.futures
import contextlib
import itertools
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, TypeVar, TypeVarTuple

import attrs

from instruction_counts import __version__
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.cluster.connection import connected, is_cluster
from instruction_counts.cluster.worker import Desk, Opened, Wanted, for_a_worker, received, sent
from instruction_counts.domain.build import Build, Fingerprint, known_at_first
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.domain.outcomes import Machine, Outcome
from instruction_counts.domain.records import ChangedFiles
from instruction_counts.domain.work import WorkOrder
from instruction_counts.execution.lanes import Lanes, LanesEntry, Measure, Opening
from instruction_counts.execution.local_lanes import DEFAULT, lanes_named
from instruction_counts.system.worker_tasks import counting_digest

T = TypeVar("T")
Arguments = TypeVarTuple("Arguments")

_LOOK_UP_S = 1.0
_HEARD_EVERY = 10
"""Look-ups: so often workers hear of their controller."""
_TOLD_WITHIN_S = 10.0
_MOST_AT_ONCE = 32
_SAME_PROGRAM = "Install the same instruction-counts there as here."
_GO_ON = "What was measured is stored. Once workers are there, go on with the others: --resume"


class LostWorkerError(Exception):
    """A worker is gone, with what it had taken."""


class Workers:
    """The workers of a scheduler, asked by their addresses."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._desks: dict[str, tuple[Any, Any]] = {}
        """Each with its future, as long as which it is there."""
        self._is_left = False
        self.there: frozenset[str] = frozenset()
        """The addresses of those that are there."""
        self.look()

    def look(self) -> None:
        """Find out which are there now; none once the scheduler is gone."""
        try:
            found = self._client.scheduler_info(n_workers=-1)["workers"]
        except Exception:  # noqa: BLE001 - Dask has many ways to say that it is gone
            found = ()
        self.there = frozenset(found)

    def ask(
        self, address: str, method: Callable[[Any, *Arguments], T], *arguments: *Arguments
    ) -> T:
        """What a method of the desk of a worker, or of its lanes, returns.

        Raises:
            LostWorkerError: the worker is gone.
            BuildError, UsageError: it says why it cannot.
        """
        try:
            desk = self._desk(address)
            with self._client.as_current():
                answer = self._awaited(desk.answer(method.__name__, sent(*arguments)), address)
        except (ModuleNotFoundError, AttributeError) as error:
            raise UsageError(f"{address} has another program: {error}", _SAME_PROGRAM) from error
        except Exception as error:
            raise LostWorkerError(address) from error
        return received(answer, method)

    def tell(self, addresses: Iterable[str], method: Callable[[Desk], object]) -> None:
        """Ask what takes no time, and wait for a moment; those that are gone do not matter.

        Nor do those that were never asked before: one that hangs must not keep others waiting.
        """
        waiting = []
        for address in addresses:
            if address in self.there and address in self._desks:
                _, desk = self._desks[address]
                with contextlib.suppress(Exception), self._client.as_current():
                    waiting.append(self._begun(desk.answer(method.__name__, sent())))
        concurrent.futures.wait(waiting, _TOLD_WITHIN_S)

    def leave(self) -> None:
        """Wait for no answer any longer: machines that hang or were cut off may send none."""
        self._is_left = True

    def _desk(self, address: str) -> Any:
        """Where a worker answers, without the scheduler: it would take longer than an answer."""
        if address not in self._desks:
            asked = {"workers": [address], "actor": True, "pure": False}
            future = self._client.submit(Desk, **asked)
            self._desks.setdefault(address, (future, self._awaited(future, address)))
        return self._desks[address][1]

    def _begun(self, future: Any) -> concurrent.futures.Future[Any]:
        # Dask's own way to wait for so long at most can fail when the time is up.
        return asyncio.run_coroutine_threadsafe(_awaited(future), self._client.loop.asyncio_loop)

    def _awaited(self, future: Any, address: str) -> Any:
        waiting = self._begun(future)
        while not concurrent.futures.wait([waiting], _LOOK_UP_S).done:
            if self._is_left or address not in self.there:
                waiting.cancel()
                raise LostWorkerError(address)
        return waiting.result()


async def _awaited(future: Any) -> Any:
    return await future


class ClusterLanes:
    """The lanes that workers have opened; see `instruction_counts.execution.lanes.Lanes`."""

    def __init__(self, workers: Workers, asked: Opening, kind: str = DEFAULT) -> None:
        self._workers, self._notice, self._kind = workers, asked.notice, kind
        self._is_closed = False
        self._changed = threading.Condition()
        self._used = dict.fromkeys(workers.there, 0)
        # Those that are ready hear of this controller while others still make environments.
        threading.Thread(target=self._keep_up, daemon=True).start()
        try:
            opened = self._open(asked)
        except BaseException:  # Ctrl-C, say
            self._is_closed = True
            self._workers.tell(self._workers.there, Desk.close_lanes)
            raise
        self.fingerprints: Mapping[str, Fingerprint] = next(iter(opened.values())).fingerprints
        """Those of all workers."""
        self._opened = tuple(opened)
        self._used = {address: found.widest for address, found in opened.items()}
        """Each with the most contiguous cores that a case can have there."""
        self._free = [at for at, found in opened.items() for _ in range(found.number)]
        """The worker of each lane that nobody has."""
        self.number = len(self._free)
        self.widest = max(self._used.values())

    def check(self, orders: Sequence[WorkOrder]) -> None:
        """Ask each worker, as one may lack what others have."""
        self._ask_all(Lanes.check, orders)

    def start(self, orders: Sequence[WorkOrder]) -> None:
        """Each worker."""
        self._ask_all(Lanes.start, orders)

    @contextlib.contextmanager
    def lane(
        self, orders: Sequence[WorkOrder], is_cancelled: Callable[[], bool]
    ) -> Iterator[Measure | None]:
        """A lane of a worker, or of another one once that is lost; it gets all orders at once."""
        cores = orders[0].cores
        held = [self._take(cores, is_cancelled)]
        waiting, found = [*orders], dict[WorkOrder, Outcome]()

        def measured(*wanted: WorkOrder) -> Sequence[Outcome]:
            while (address := held[0]) is not None:
                asked = tuple(map(for_a_worker, wanted))
                try:
                    answer = self._workers.ask(address, Desk.measure, asked)
                except LostWorkerError:
                    self._lose(address, wanted[0])
                except UsageError as error:  # of the machine: a full disk, say
                    self._lose(address, wanted[0], error)
                else:
                    self.fingerprints = answer.fingerprints
                    for text in answer.notices:
                        self._notice(f"{address}: {text}")
                    return answer.outcomes
                held[0] = self._take(cores, is_cancelled)
            raise UsageError("the lanes were closed")

        def measure(order: WorkOrder) -> Outcome:
            if order not in found:  # as for another try of this one alone
                wanted = waiting or [order]
                found.update(zip(wanted, measured(*wanted), strict=True))
                waiting.clear()
            return found.pop(order)

        try:
            yield None if held[0] is None else measure
        finally:
            if held[0] is not None:
                with self._changed:
                    self._free.append(held[0])
                    self._changed.notify()

    def changed_files(self) -> dict[str, ChangedFiles]:
        """Where any worker sees some."""
        found: dict[str, ChangedFiles] = {}
        for address in sorted(self._used):
            with contextlib.suppress(LostWorkerError, UsageError):
                found |= self._workers.ask(address, Lanes.changed_files)
        return found

    def machine(self) -> Machine:
        """What a core of one of them can do."""
        return ask_any(self._workers, self._used, Lanes.machine)

    def close(self) -> None:
        """End what runs for this run on each worker."""
        with self._changed:
            if self._is_closed:
                return
            self._is_closed = True
            self._changed.notify_all()
        try:  # some that were lost may be there again
            self._workers.tell(self._opened, Desk.close_lanes)
        finally:  # whoever presses Ctrl-C again waits for none that hangs
            self._workers.leave()

    # Opening

    def _open(self, asked: Opening) -> dict[str, Opened]:
        """The lanes of each worker, as far as they are of one kind, by its address."""
        if asked.profile.callgrind_out is not None:
            raise UsageError(
                "files of Callgrind stay on the machine that wrote them",
                "Leave out --callgrind-out, or --lanes.",
            )
        builds = tuple(facts.build for facts in asked.facts)
        profile = attrs.evolve(asked.profile, keeps_servers=False)
        wanted = Wanted(asked.engine, builds, profile, asked.jobs, asked.cores, self._kind)
        addresses = sorted(self._workers.there)
        if not addresses:
            raise _no_workers()
        return self._of_one_kind(self._each(addresses, partial(self._open_one, wanted)))

    def _each(self, addresses: Sequence[str], task: Callable[[str], T]) -> dict[str, T]:
        """What a task finds on each worker; those on which it fails are said, and closed.

        Raises:
            BuildError, UsageError: it fails on all of them.
        """
        with ThreadPoolExecutor(min(len(addresses), _MOST_AT_ONCE)) as threads:
            try:
                answers = threads.map(partial(_found_or_error, task), addresses)
                found = dict(zip(addresses, answers, strict=True))
            except BaseException:  # Ctrl-C, which else waits for the threads
                self._workers.leave()
                raise
        errors = {at: answer for at, answer in found.items() if isinstance(answer, UsageError)}
        if len(errors) == len(found):
            raise next(iter(errors.values()))
        for address, error in errors.items():
            self._notice(f"{address} is not used: {error}")
        self._workers.tell(errors, Desk.close_lanes)
        return {at: answer for at, answer in found.items() if not isinstance(answer, UsageError)}

    def _ask_all(
        self, method: Callable[[Lanes, Sequence[WorkOrder]], None], orders: Sequence[WorkOrder]
    ) -> None:
        samples, used = _samples(orders), sorted(self._used)
        if not used:
            return  # `lane` says so
        found = self._each(used, lambda address: self._workers.ask(address, method, samples))
        with self._changed:
            self._used = {at: widest for at, widest in self._used.items() if at in found}

    def _open_one(self, wanted: Wanted, address: str) -> Opened:
        version, counted_by = self._workers.ask(address, Desk.hello)
        if (version, counted_by) != (__version__, counting_digest()):
            message = f"{address} has version {version}, and this is {__version__}"
            if version == __version__:
                message = f"{address} has other code of version {version}"
            raise UsageError(message, _SAME_PROGRAM)
        return self._workers.ask(address, Desk.open_lanes, wanted)

    def _of_one_kind(self, opened: Mapping[str, Opened]) -> dict[str, Opened]:
        """Those with the fingerprints that most have; the others are said, and closed.

        Of as many of several kinds, those stay that can count.
        """
        kinds = {
            address: tuple(known_at_first(each) for each in found.fingerprints.values())
            for address, found in opened.items()
        }
        numbers = Counter(kinds.values())
        most = max(numbers, key=lambda kind: (numbers[kind], all(one.valgrind for one in kind)))
        others = [address for address, kind in kinds.items() if kind != most]
        for address in others:
            differing = sorted(
                {
                    f"{'another' if value else 'no'} {name}"
                    for one, other in zip(kinds[address], most, strict=True)
                    for name, value in attrs.asdict(one).items()
                    if value != getattr(other, name)
                }
            )
            self._notice(
                f"{address} is not used: its counts would not be comparable with those of most "
                f"workers, as it has {', '.join(differing)}"
            )
        self._workers.tell(others, Desk.close_lanes)
        return {address: found for address, found in opened.items() if address not in others}

    # Workers that are used

    def _take(self, cores: int, is_cancelled: Callable[[], bool]) -> str | None:
        """Wait for a lane with so many cores; its worker, or None once it is too late.

        Raises:
            BuildError: no worker is left that has so many.
        """
        with self._changed:
            while not (self._is_closed or is_cancelled()):
                for address in self._free:
                    if self._used.get(address, 0) >= cores:
                        self._free.remove(address)
                        return address
                if all(widest < cores for widest in self._used.values()):
                    which = f" with {cores} contiguous cores" if self._used else ""
                    raise BuildError(f"no worker is left{which}", _GO_ON)
                self._changed.wait(_LOOK_UP_S)
        return None

    def _lose(self, address: str, order: WorkOrder, error: UsageError | None = None) -> None:
        """Give a worker no more: it is gone, or says why it cannot go on."""
        with self._changed:
            is_new = address in self._used
            self._used.pop(address, None)
            self._changed.notify_all()
        if not is_new or self._is_closed:
            return
        what, why = ("is gone", "") if error is None else ("cannot go on", f": {error}")
        self._notice(f"{address} {what}; {order.title} and its other cases go to others{why}")
        if error is not None:
            self._workers.tell([address], Desk.close_lanes)

    def _keep_up(self) -> None:
        """See which workers are there, and let them hear of this controller."""
        for number in itertools.count(1):
            if self._is_closed:
                return
            self._workers.look()
            if number % _HEARD_EVERY == 0:
                self._workers.tell(tuple(self._used), Desk.hear)
            with self._changed:
                self._changed.wait_for(lambda: self._is_closed, _LOOK_UP_S)


def ask_any(
    workers: Workers,
    addresses: Iterable[str],
    method: Callable[[Any, *Arguments], T],
    *arguments: *Arguments,
) -> T:
    """What the first of these workers finds.

    Raises:
        BuildError, UsageError: why the first cannot, where none can; or none is there.
    """
    reason: UsageError | None = None
    for address in sorted(addresses):
        try:
            return workers.ask(address, method, *arguments)
        except UsageError as error:  # another one may have what this one lacks
            reason = reason or error
        except LostWorkerError:
            pass
    raise reason or _no_workers()


def _no_workers() -> UsageError:
    remedy = "Start some:  dask worker ADDRESS     or correct the options of its cluster."
    return UsageError("the scheduler has no workers", remedy)


def _found_or_error(task: Callable[[str], T], address: str) -> T | UsageError:
    try:
        return task(address)
    except UsageError as error:
        return error
    except LostWorkerError:
        return UsageError(f"{address} is gone", _GO_ON)


def _samples(orders: Sequence[WorkOrder]) -> tuple[WorkOrder, ...]:
    """An order of each sort, as there can be thousands that need the same."""
    sorts = {
        (
            *(order.build.name, order.case.autolabels, order.case.timer_args.kind),
            *(order.counts, order.times, order.output, order.executed, bool(order.refusal)),
            *(order.beside is not None, order.cycles, order.hardware),
        ): order
        for order in orders
    }
    return tuple(map(for_a_worker, sorts.values()))


# The kind of lanes


def lanes_of(lanes: str) -> LanesEntry:
    """A kind of lanes by its name, or those on workers: by an address, or a file of a cluster.

    Raises:
        UsageError: there is no such kind.
    """
    if not is_cluster(lanes):
        try:
            return lanes_named(lanes)
        except UsageError as error:
            known = f"{error.remedy}, or a scheduler of Dask (tls://…), or FILE.yaml with a cluster"
            raise UsageError(error.message, known) from None
    return LanesEntry("cluster", partial(_probe, lanes), partial(_open, lanes))


def _probe(lanes: str, build: Build, timeout_s: float) -> BuildFacts:
    workers = Workers(connected(lanes))
    return ask_any(workers, workers.there, Desk.probe, build, timeout_s)


def _open(lanes: str, asked: Opening) -> ClusterLanes:
    return ClusterLanes(Workers(connected(lanes)), asked)
