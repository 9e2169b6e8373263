"""Timing two builds in turns, with processes that only say how long a block took."""

import contextlib
import itertools
import json
import socket
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import attrs
import pytest

from instruction_counts.domain.paired import Disturbances, PairedTimes, Stopped
from instruction_counts.engines.turns import (
    BLOCK_S,
    LEAST_IN_ROUND,
    LEAST_ROUNDS,
    PAIRS,
    Block,
    opened_blocks,
    time_in_turns,
)
from instruction_counts.system.steadiness import Surroundings
from instruction_counts.system.worker_process import WorkerError

US = 1e-6
QUIET = Surroundings((0,), Path("/nowhere"))
BEFORE = 8
"""Blocks before the first pair: until one is long enough, and to warm up."""


class Machine:
    """Two builds on a machine whose clock is ``speed`` of the time that has passed.

    ``of_round`` are factors by which a round differs: what belongs to a process.
    """

    def __init__(
        self,
        costs: Sequence[float] = (5 * US, 5 * US),
        speed: Callable[[float], float] = lambda _: 1.0,
        of_round: Callable[[int], float] = lambda _: 1.0,
        disturbed: Callable[[int], Block] = lambda _: Block(0.0),
    ) -> None:
        self.costs, self.speed, self.of_round, self.disturbed = costs, speed, of_round, disturbed
        self.now_s, self.blocks, self.order = 0.0, itertools.count(), ""
        self.rounds = [0, 0]
        self.is_open = [False, False]

    @contextlib.contextmanager
    def open(self, side: int) -> Iterator[Any]:
        """A new process of one of the builds."""
        self.rounds[side] += 1
        self.is_open[side] = True
        yield SimpleNamespace(time=partial(self.block, side))
        self.is_open[side] = False

    def block(self, side: int, runs: int) -> Block:
        """See `Blocks`."""
        assert all(self.is_open), "both processes are there while either is timed"
        seconds = runs * self.costs[side] * self.speed(self.now_s)
        if side:
            seconds *= self.of_round(self.rounds[1])
        self.now_s += seconds
        self.order += "ab"[side]
        found = self.disturbed(next(self.blocks))
        return Block(seconds, found.preempted, found.major_faults)

    def time(self, seed: int = 1, surroundings: Surroundings = QUIET) -> PairedTimes:
        """Time both builds."""
        opened = partial(self.open, 0), partial(self.open, 1)
        return time_in_turns(("a", "b"), opened, surroundings, seed=seed, clock=lambda: self.now_s)


def test_the_ratio_is_that_of_new_to_base_where_the_clock_drifts() -> None:
    """A machine that becomes half as quick meanwhile meets both alike."""
    found = Machine((5 * US, 6 * US), speed=lambda now_s: 1 + min(now_s, 1)).time()

    assert found.interval is not None
    assert 1.2 == pytest.approx(found.interval.ratio, rel=0.002)
    assert found.interval.low <= 1.2 <= found.interval.high


def test_it_ends_with_the_first_rounds_where_they_agree() -> None:
    """The interval is narrow then; two new processes took part in each round."""
    machine = Machine()
    found = machine.time()

    assert Stopped.NARROW is found.stopped
    assert [LEAST_ROUNDS, LEAST_ROUNDS] == machine.rounds
    assert (LEAST_ROUNDS * PAIRS, LEAST_ROUNDS) == (found.pairs, len(found.ratios))


@pytest.mark.parametrize("ratio", [1, 10])
def test_it_ends_with_the_budget_where_rounds_differ(ratio: int) -> None:
    """What differs from process to process, however alike the blocks of each are, is not known.

    Where the ratio lies ends nothing: else what is looked at often enough differs at last.
    """
    costs = (5 * US, ratio * 5 * US)
    found = Machine(costs, of_round=lambda number: 1.1 if number % 2 else 0.9).time()

    assert Stopped.BUDGET is found.stopped
    assert len(found.ratios) > LEAST_ROUNDS
    assert found.interval is not None
    assert found.interval.low < ratio < found.interval.high


def test_a_block_has_as_many_runs_as_fill_it_on_both_builds() -> None:
    """A block that is too short measures the hand-over."""
    found = Machine((1 * US, 3 * US)).time()

    assert BLOCK_S <= found.runs * 1 * US <= 1.5 * BLOCK_S
    assert (1 * US, 3 * US) == pytest.approx((found.base_s[0], found.new_s[0]))


def test_a_slow_statement_is_a_block_by_itself() -> None:
    """It has one run, and a round few of them."""
    found = Machine((0.1, 0.1)).time()

    assert (1, LEAST_IN_ROUND * LEAST_ROUNDS) == (found.runs, found.pairs)


def test_what_takes_no_time_is_refused() -> None:
    """A compiler that removed it leaves a loop of any number of runs."""
    with pytest.raises(WorkerError, match="takes no time"):
        Machine((0.0, 0.0)).time()


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        (Block(0, preempted=1), Disturbances(preempted=5)),
        (Block(0, major_faults=1), Disturbances(major_faults=5)),
    ],
    ids=["preempted", "major faults"],
)
def test_pairs_with_a_disturbed_block_are_left_out(block: Block, expected: Disturbances) -> None:
    """They are counted, by what disturbed them."""
    disturbed = {BEFORE + number for number in range(0, 10, 2)}
    machine = Machine(disturbed=lambda number: block if number in disturbed else Block(0))
    found = machine.time()

    assert expected == found.disturbances
    assert LEAST_ROUNDS == len(found.ratios)


def test_a_round_that_was_disturbed_most_of_the_time_is_left_out() -> None:
    """The four pairs that are left say too little."""
    machine = Machine(
        disturbed=lambda number: Block(0, preempted=BEFORE <= number < BEFORE + 2 * PAIRS - 8)
    )
    found = machine.time()

    assert (1, LEAST_ROUNDS) == (found.rounds_left_out, len(found.ratios))


def test_a_case_is_given_up_where_all_is_disturbed() -> None:
    """It ends, and there is no interval."""
    found = Machine(disturbed=lambda _: Block(0, preempted=1)).time()

    assert (Stopped.BUDGET, (), None) == (found.stopped, found.ratios, found.interval)


def test_time_that_the_hypervisor_took_disturbs_a_pair() -> None:
    """As another process does."""
    ticks = itertools.count()

    class Stealing(Surroundings):
        def stolen(self) -> int:
            return next(ticks)

    found = Machine().time(surroundings=Stealing((0,)))

    assert found.pairs == found.disturbances.stolen


def test_the_order_is_random_and_can_be_repeated() -> None:
    """By the seed that is stored with the times."""
    orders = []
    for seed in (1, 1, 2):
        machine = Machine()
        assert seed == machine.time(seed).seed
        orders.append(machine.order)

    assert orders[0] == orders[1] != orders[2]
    pairs = orders[0][BEFORE : BEFORE + 2 * PAIRS]
    assert {"ab", "ba"} == {pairs[place : place + 2] for place in range(0, len(pairs), 2)}


# A child at the other end of a socket


def test_a_child_is_asked_for_blocks_until_the_end(tmp_path: Path) -> None:
    """It learns how many runs, and then that nobody asks any more; its socket is removed."""
    answers, asked = [Block(0.25), Block(0.5, 2, 3)], list[str]()

    def child(place: Path) -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(place))
            with connection.makefile("rwb", buffering=0) as stream:
                stream.write(b'{"type": "ready"}\n')
                for answer in answers:
                    asked.append(f"{json.loads(stream.readline())['runs']} runs")
                    stream.write(json.dumps(attrs.asdict(answer)).encode() + b"\n")
                if not stream.readline():
                    asked.append("nobody asks")

    with opened_blocks(child, tmp_path / "socket") as blocks:
        found = [blocks.time(10), blocks.time(20)]

    assert answers == found
    assert ["10 runs", "20 runs", "nobody asks"] == asked
    assert [] == list(tmp_path.iterdir())


def test_a_child_that_is_never_ready_is_not_waited_for(tmp_path: Path) -> None:
    """It says nothing, and is gone."""
    opened = opened_blocks(lambda _: None, tmp_path / "socket")
    with pytest.raises(WorkerError, match="ended"), opened:
        pytest.fail("nothing is ready")
