"""Cores that several processes use: locks that end with their holders, and one queue."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from instruction_counts.execution.core_locks import CoreLocks
from tests.cores import shared_pool
from tests.waiting import comes_true

ROOT = Path(__file__).resolve().parents[2]
HOLDING = """
import sys
from pathlib import Path
from instruction_counts.execution.core_locks import CoreLocks
from instruction_counts.execution.cores import CorePool
with CorePool((0,), CoreLocks(Path(sys.argv[1]))).reserve(1):
    print("held", flush=True)
    sys.stdin.read()
"""


@contextlib.contextmanager
def other_process(folder: Path, *args: str) -> Iterator[subprocess.Popen[str]]:
    """A process that holds core 0 until its input ends."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDING, str(folder), *args],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    with process:
        assert "held\n" == process.stdout.readline()
        yield process
        process.kill()


def waiting_in(folder: Path) -> int:
    """How many wait for cores."""
    return len(list(folder.glob("ticket-*")))


def test_a_core_of_another_process_is_not_lent(tmp_path: Path) -> None:
    """As long as there is another one, nobody waits."""
    with other_process(tmp_path), shared_pool(tmp_path, 0, 1).reserve(1) as cores:
        assert (1,) == cores


@pytest.mark.parametrize("killed", [False, True], ids=["it ends", "it is killed"])
def test_a_process_that_is_gone_holds_nothing(tmp_path: Path, *, killed: bool) -> None:
    """However it went."""
    with other_process(tmp_path) as process:
        if killed:
            process.kill()
        else:
            process.communicate("")
        with shared_pool(tmp_path, 0).reserve(1) as cores:
            assert (0,) == cores


def test_who_waits_says_once_for_whom(tmp_path: Path) -> None:
    """With the process and its arguments, shortened."""
    said: list[str] = []
    pool = shared_pool(tmp_path, 0, notice=said.append)
    arguments = f"{tmp_path} --only {100 * 'é'}"[:59] + "…"
    with other_process(tmp_path, "--only", 100 * "é") as process:
        for _ in range(2):
            with pool.reserve(1, lambda: bool(said)):
                pass

    assert [f'waiting for a core: held by process {process.pid}, "{arguments}"'] == said


def test_nobody_is_told_of_lanes_of_the_same_process(tmp_path: Path) -> None:
    """They take turns all the time."""
    said: list[str] = []
    pool = shared_pool(tmp_path, 0, notice=said.append)
    with pool.reserve(1):
        lane = threading.Thread(target=lambda: pool.reserve(1).__enter__())
        lane.start()
        assert comes_true(lambda: waiting_in(tmp_path) == 1)
        time.sleep(0.05)
    lane.join()

    assert [] == said


def test_who_came_first_is_served_first_by_whatever_process(tmp_path: Path) -> None:
    """Here each pool stands for a process: the locks do not tell them apart."""
    served: list[int] = []

    def reserve(number: int) -> None:
        with shared_pool(tmp_path, 0).reserve(1):
            served.append(number)

    lanes = [threading.Thread(target=reserve, args=(number,)) for number in range(5)]
    with shared_pool(tmp_path, 0).reserve(1):
        for number, lane in enumerate(lanes):
            lane.start()
            assert comes_true(lambda number=number: waiting_in(tmp_path) == number + 1)
    for lane in lanes:
        lane.join()

    assert [0, 1, 2, 3, 4] == served


def test_nobody_waits_behind_those_who_want_other_cores(tmp_path: Path) -> None:
    """As commands that were started with --cores."""
    other = CoreLocks(tmp_path).queue([0])
    with shared_pool(tmp_path, 0).reserve(1), other, shared_pool(tmp_path, 1).reserve(1) as cores:
        assert (1,) == cores


def test_a_wait_that_is_cancelled_ends_without_cores(tmp_path: Path) -> None:
    """An interrupt does not wait for other processes."""
    pool = shared_pool(tmp_path, 0)
    with pool.reserve(1), pool.reserve(1, lambda: True) as cores:
        assert () == cores

    assert 0 == waiting_in(tmp_path)


def test_a_ticket_that_nobody_holds_is_removed(tmp_path: Path) -> None:
    """Its process was killed while it waited."""
    left = tmp_path / f"ticket-{0:020d}-1-1-{1:x}"
    left.touch()
    with shared_pool(tmp_path, 0).reserve(1) as cores:
        assert (0,) == cores

    assert not left.exists()


def test_a_disk_that_is_full_costs_only_the_remark(tmp_path: Path) -> None:
    """Who holds a core is then not known to the others."""
    (tmp_path / "holder-0").symlink_to("/dev/full")
    with shared_pool(tmp_path, 0).reserve(1) as cores:
        assert (0,) == cores


def test_what_is_left_of_a_use_is_its_lock_file(tmp_path: Path) -> None:
    """And the last word of who held it."""
    with shared_pool(tmp_path, 0).reserve(1):
        pass

    assert ["core-0", "holder-0"] == sorted(path.name for path in tmp_path.iterdir())
