"""Two builds timed in turns, block by block, until the ratio is known or a budget is spent.

A round has two new processes, one of each build, on the same cores; only one of them runs at a
time. What drifts (a clock, a neighbour, the temperature) meets both within milliseconds, and what
belongs to a process (where its memory lies) is drawn again in each round.
"""

import contextlib
import json
import math
import random
import socket
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import attrs

from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.domain.paired import Disturbances, PairedTimes, Stopped, ratio_interval
from instruction_counts.system.steadiness import Surroundings
from instruction_counts.system.worker_process import WorkerError

BLOCK_S = 0.0001
"""How long a block takes at least: as short as the hand-over, since what disturbs comes in bursts,
and many short pairs have a steadier median than few long ones."""
PAIRS = 101
"""Pairs of blocks in a round; odd, so that one of them is the median."""
LEAST_IN_ROUND = 9
_ROUND_S = 0.1
"""A round of slow blocks ends after this time, with `LEAST_IN_ROUND` pairs or more."""
_LEAST_PAIRS = 5
"""A round with fewer undisturbed pairs is left out."""
LEAST_ROUNDS = 5
NARROW = 0.005
"""How far the ends of the interval may be from its middle, where no further round is needed."""
BUDGET_S = 2.0
"""For the rounds of a case. The one that is begun then is the last, if there are `LEAST_ROUNDS`."""
_LONGEST_S = 10 * BUDGET_S
"""By then a case is given up, however few rounds it has."""
_MOST_RUNS = 10**9


@attrs.frozen
class Block:
    """A block of runs that was timed."""

    seconds: float
    preempted: int = 0
    """How often another process took the core meanwhile."""
    major_faults: int = 0


class Blocks(Protocol):
    """A case in a process that is ready: its setup has run."""

    def time(self, runs: int) -> Block:
        """Time a block of ``runs`` iterations.

        Raises:
            WorkerError: the process failed, or is gone.
        """


Opened: TypeAlias = Callable[[], AbstractContextManager[Blocks]]
"""Starts a new process for a case, and ends it."""


@attrs.frozen
class _Round:
    """The pairs of blocks of a round: seconds on base, and on new."""

    pairs: tuple[tuple[float, float], ...]
    disturbances: Disturbances
    clock_khz: int

    @property
    def is_usable(self) -> bool:
        return len(self.pairs) >= _LEAST_PAIRS

    @property
    def ratio(self) -> float:
        return statistics.median(new / base for base, new in self.pairs)


def time_in_turns(
    builds: tuple[str, str],
    opened: Sequence[Opened],
    surroundings: Surroundings,
    *,
    seed: int,
    clock: Callable[[], float] = time.monotonic,
) -> PairedTimes:
    """The times of a case on two builds, base first, in processes that are ``opened``.

    ``surroundings`` are those of the cores that they run on.

    Raises:
        WorkerError, ServerStartError: a process failed.
    """
    order = random.Random(seed)  # noqa: S311 - an order, not a secret
    runs, begin, load = 0, 0.0, surroundings.load()
    rounds: list[_Round] = []
    while True:
        with contextlib.ExitStack() as stack:
            first = order.randrange(2)
            made = {side: stack.enter_context(opened[side]()) for side in (first, 1 - first)}
            sides = made[0], made[1]
            if not runs:  # what had to be compiled for it, say, is none of its time
                runs, begin = _runs_of_block(sides), clock()
            rounds.append(_round(sides, runs, order, surroundings))
        stopped = _why_stop(rounds, clock() - begin)
        if stopped is not None:
            break
    used = [one for one in rounds if one.is_usable]
    lost = [attrs.astuple(one.disturbances) for one in rounds]
    disturbances = Disturbances(*map(sum, zip(*lost, strict=True)))
    base_s, new_s = (
        tuple(statistics.median(pair[side] for pair in one.pairs) / runs for one in used)
        for side in (0, 1)
    )
    return PairedTimes(
        base=builds[0],
        new=builds[1],
        runs=runs,
        ratios=tuple(one.ratio for one in used),
        base_s=base_s,
        new_s=new_s,
        seed=seed,
        pairs=disturbances.total + sum(len(one.pairs) for one in rounds),
        stopped=stopped,
        disturbances=disturbances,
        rounds_left_out=len(rounds) - len(used),
        load=load,
        governor=surroundings.governor(),
        clock_khz=tuple(one.clock_khz for one in used),
    )


def _runs_of_block(sides: Sequence[Blocks]) -> int:
    """As many runs as fill a block on the quicker side."""
    runs = 1
    while runs < _MOST_RUNS:
        seconds = min(side.time(runs).seconds for side in sides)
        if seconds >= BLOCK_S:
            return runs
        runs = math.ceil(runs * min(10, max(1.2, 1.1 * BLOCK_S / max(seconds, 1e-9))))
    raise WorkerError(Failure(FailureKind.REFUSED, "it takes no time"))


def _round(
    sides: Sequence[Blocks], runs: int, order: random.Random, surroundings: Surroundings
) -> _Round:
    for side in sides:
        side.time(runs)  # to warm up
    pairs, lost, spent_s, stolen = [], Disturbances(), 0.0, surroundings.stolen()
    for number in range(PAIRS):
        if number >= LEAST_IN_ROUND and spent_s >= _ROUND_S:
            break
        first = order.randrange(2)
        timed = {side: sides[side].time(runs) for side in (first, 1 - first)}
        blocks = timed[0], timed[1]
        spent_s += sum(block.seconds for block in blocks)
        before, stolen = stolen, surroundings.stolen()
        if any(block.preempted for block in blocks):
            lost = attrs.evolve(lost, preempted=lost.preempted + 1)
        elif any(block.major_faults for block in blocks):
            lost = attrs.evolve(lost, major_faults=lost.major_faults + 1)
        elif stolen != before:
            lost = attrs.evolve(lost, stolen=lost.stolen + 1)
        else:
            pairs.append((blocks[0].seconds, blocks[1].seconds))
    return _Round(tuple(pairs), lost, surroundings.clock_khz())


def _why_stop(rounds: Sequence[_Round], spent_s: float) -> Stopped | None:
    """Why no further round is timed; None where one is.

    The width of the interval decides, and never where it lies: that would find what is not there.
    """
    ratios = [one.ratio for one in rounds if one.is_usable]
    if len(ratios) >= LEAST_ROUNDS:
        interval = ratio_interval(ratios)
        if interval is not None and interval.half_width <= NARROW:
            return Stopped.NARROW
        if spent_s >= BUDGET_S:
            return Stopped.BUDGET
    return Stopped.BUDGET if spent_s >= _LONGEST_S else None


# Blocks of a case in a child of a server that takes times


class ForkBlocks:
    """What the child of a task times, at the other end of a connection."""

    def __init__(self, listener: socket.socket, task: Future[object]) -> None:
        self._task = task
        try:
            self._connection, _ = listener.accept()
        except OSError:
            raise self._failure() from None
        self._lines = self._connection.makefile("rb")

    def close(self) -> None:
        """Ask for no further block."""
        self._lines.close()
        self._connection.close()

    def time(self, runs: int) -> Block:
        """See `Blocks`."""
        with contextlib.suppress(OSError):  # the answer says why
            self._connection.sendall(json.dumps({"runs": runs}).encode() + b"\n")
        found = self.receive()
        return Block(found["seconds"], found["preempted"], found["major_faults"])

    def receive(self) -> dict[str, Any]:
        """The next message of the child."""
        try:
            line = self._lines.readline()
        except OSError:
            line = b""
        if not line:
            raise self._failure()
        found: dict[str, Any] = json.loads(line)
        return found

    def _failure(self) -> BaseException:
        ended = Failure(FailureKind.EXIT, "its process ended while it was timed")
        return self._task.exception() or WorkerError(ended)


@contextlib.contextmanager
def opened_blocks(run: Callable[[Path], object], place: Path) -> Iterator[ForkBlocks]:
    """Let ``run`` carry out the task, whose child connects to ``place``; at the end it ends.

    Raises:
        WorkerError, ServerStartError: what ``run`` raises, also between two blocks.
    """
    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as threads:
        listener.bind(str(place))
        listener.listen(1)
        task = threads.submit(run, place)
        # Nobody waits for a child that ends before it connects.
        task.add_done_callback(lambda _: listener.shutdown(socket.SHUT_RDWR))
        try:
            with contextlib.closing(ForkBlocks(listener, task)) as blocks:
                blocks.receive()  # it is ready
                yield blocks
        finally:
            place.unlink(missing_ok=True)
