"""Cores: the option that names them, and the pool that lends them to all processes of a user."""

import contextlib
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from instruction_counts.domain.errors import UsageError
from instruction_counts.execution.cores import parse_cores
from tests.cores import PoolOfItsOwn, shared_pool
from tests.process import ROOT
from tests.waiting import comes_true

CORES = st.sets(st.integers(0, 12), min_size=1, max_size=8).map(lambda cores: tuple(sorted(cores)))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        *(("0", (0,)), ("0-3", (0, 1, 2, 3)), ("0-1,3", (0, 1, 3)), ("3,0", (0, 3))),
        *(("1,1-2", (1, 2)), (" 0 , 2 ", (0, 2)), ("2-2", (2,))),
    ],
)
def test_numbers_and_ranges_name_cores(text: str, expected: tuple[int, ...]) -> None:
    """Parts are joined, sorted and named once."""
    assert expected == parse_cores(text, (0, 1, 2, 3))


@pytest.mark.parametrize("text", ["", "a", "0-", "-1", "0,,1", "0-1-2", "1.5", "²", "0 1"])
def test_another_form_is_refused_with_an_example(text: str) -> None:
    """What is not a list of cores is told apart from what names absent ones."""
    with pytest.raises(UsageError, match=r"is not a list of cores\n  For example: 0-3,6"):
        parse_cores(text, (0, 1))


@pytest.mark.parametrize(
    ("text", "absent"),
    [("0-2", "2"), ("7,9", "7, 9"), ("1-0", "none"), ("0-999999999999999", "2")],
)
def test_a_core_that_is_not_there_is_refused_with_those_that_are(text: str, absent: str) -> None:
    """The error names what could be named instead; a huge range costs neither memory nor time."""
    with pytest.raises(UsageError, match=f"not available here: {absent}\n  Available: 0, 1"):
        parse_cores(text, (0, 1))


def test_a_reservation_leaves_long_runs_whole() -> None:
    """One core comes from the shortest run that has it, also after a lane that failed."""
    pool = PoolOfItsOwn(0, 1, 2, 4)
    with pytest.raises(ValueError, match="lane"), pool.reserve(1):
        raise ValueError("lane")
    with pool.reserve(1) as cores:
        assert (4,) == cores


@settings(max_examples=25)
@given(CORES, st.lists(st.integers(1, 3), max_size=12))
def test_no_core_is_lent_twice_and_all_are_contiguous(
    cores: tuple[int, ...], counts: list[int]
) -> None:
    """Whatever several lanes ask for at once."""
    pool = PoolOfItsOwn(*cores)
    lock, held, wrong = threading.Lock(), set[int](), list[tuple[int, ...]]()

    def reserve(count: int) -> None:
        with pool.reserve(min(count, pool.widest)) as lent:
            with lock:
                is_contiguous = lent == tuple(range(lent[0], lent[0] + len(lent)))
                if held & set(lent) or not is_contiguous or not set(lent) <= set(cores):
                    wrong.append(lent)
                held.update(lent)
            time.sleep(0.0005)
            with lock:
                held.difference_update(lent)

    with ThreadPoolExecutor(4) as lanes:
        list(lanes.map(reserve, counts))

    assert [] == wrong


def waiting_in(folder: Path, number: int) -> bool:
    """Whether so many wait for cores, now or soon."""
    return comes_true(lambda: len(list(folder.glob("ticket-*"))) == number)


@pytest.mark.parametrize("counts", [(2, 1), (1, 2, 1, 1)])
def test_who_came_first_is_served_first(tmp_path: Path, counts: Sequence[int]) -> None:
    """Narrow cases that come later do not starve a wide one, although their cores are free.

    Here each pool stands for a process: the locks do not tell them apart.
    """
    served: list[int] = []

    def reserve(count: int) -> None:
        with shared_pool(tmp_path, 0, 1).reserve(count):
            served.append(count)

    lanes = [threading.Thread(target=reserve, args=(count,)) for count in counts]
    with shared_pool(tmp_path, 0, 1).reserve(2):
        for number, lane in enumerate(lanes, 1):
            lane.start()
            assert waiting_in(tmp_path, number)
    for lane in lanes:
        lane.join()

    assert [*counts] == served


def test_nobody_waits_behind_those_who_want_other_cores(tmp_path: Path) -> None:
    """As commands that were started with --cores."""
    lane = threading.Thread(target=lambda: shared_pool(tmp_path, 0).reserve(1).__enter__())
    with shared_pool(tmp_path, 0).reserve(1):
        lane.start()
        assert waiting_in(tmp_path, 1)
        with shared_pool(tmp_path, 1).reserve(1) as cores:
            assert (1,) == cores
    lane.join()


def test_what_is_left_in_the_folder_costs_nothing(tmp_path: Path) -> None:
    """The ticket of a process that was killed is removed; on a full disk no holder is known."""
    left = tmp_path / f"ticket-{0:020d}-1-1-{1:x}"
    left.touch()
    (tmp_path / "holder-0").symlink_to("/dev/full")
    with shared_pool(tmp_path, 0).reserve(1) as cores:
        assert (0,) == cores

    assert ["core-0"] == sorted(path.name for path in tmp_path.iterdir())


HOLDING = """
import sys
from pathlib import Path
from instruction_counts.execution.cores import CorePool
with CorePool((0,), Path(sys.argv[1])).reserve(1):
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


@pytest.mark.parametrize("killed", [False, True], ids=["it ends", "it is killed"])
def test_a_core_of_another_process_is_lent_when_that_is_gone(
    tmp_path: Path, *, killed: bool
) -> None:
    """However it went; as long as there is another core, nobody waits."""
    with other_process(tmp_path) as process:
        with shared_pool(tmp_path, 0, 1).reserve(1) as cores:
            assert (1,) == cores
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


def test_lanes_of_the_same_process_are_not_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They take turns all the time. Others know a program without arguments by its name.

    Of that, a byte that is no text is a question mark.
    """
    monkeypatch.setattr("sys.argv", ["/home/me/measure\udcff.py"])
    said: list[str] = []
    looks = iter([False, False, True])
    pool = shared_pool(tmp_path, 0, notice=said.append)
    with pool.reserve(1), pool.reserve(1, lambda: next(looks)) as cores:
        assert f"{os.getpid()}\nmeasure?.py" == (tmp_path / "holder-0").read_text()
        assert () == cores

    assert [] == said
