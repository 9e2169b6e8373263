"""Whatever strikes a run of 40 cases, nothing that was finished is lost, and nothing is left.

``FAULT_SEEDS=50 make test-faults`` tries the seeds 1 to 50; ``FAULT_SEEDS=7,12`` tries these two.
A seed gives the same faults in the same order; when they strike depends on the machine.
"""

import contextlib
import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self, TypeAlias

import attrs
import pytest

from instruction_counts.core.types import Language
from instruction_counts.domain.outcomes import Status
from instruction_counts.domain.records import Record
from instruction_counts.storage.json_files import read_json
from instruction_counts.storage.store import Store
from tests.process import MAIN
from tests.small_disk import fill, small_disk
from tests.waiting import below, comes_true, is_running

pytestmark = [pytest.mark.slow, pytest.mark.thorough, pytest.mark.faults]

CASES = 40
DEFINITIONS = f"""\
from core.api import Language, TimerArgs
SETUP = "x = torch.ones(8)"
LABELS = [f'c{{n:02}}' for n in range({CASES - 1})]
STATEMENTS = ['\\n'.join(['x + 1'] * (1 + n)) for n in range(len(LABELS))]
BENCHMARKS = {{n: TimerArgs(s, SETUP) for n, s in zip(LABELS, STATEMENTS)}}
BENCHMARKS['c{CASES - 1}'] = TimerArgs(
    'x.add(SEED);', 'auto x = torch::ones({{8}});', language=Language.CPP)
"""
"""Statements of increasing cost, and a C++ one that no cache holds."""


def seeds() -> list[int]:
    """Those that are asked for: ``make test-faults`` does, other commands leave chance out."""
    asked = os.environ.get("FAULT_SEEDS", "0")
    if "," in asked:
        return [int(part) for part in asked.split(",") if part]
    return list(range(1, int(asked) + 1))


@attrs.frozen
class Place:
    """Where a run happens: its definitions, and a small disk for the results."""

    folder: Path
    disk: Path

    @classmethod
    def of(cls, folder: Path, disk: Path, seed: int) -> Self:
        """With the definitions."""
        (folder / "tmp").mkdir(mode=0o700)
        (folder / "cases.py").write_text(DEFINITIONS.replace("SEED", str(seed)))
        return cls(folder, disk)

    def start(self, output: str, *more: str) -> subprocess.Popen[bytes]:
        """Measure the cases; what is printed goes into a file."""
        with (self.folder / f"{output}.log").open("wb") as stream:
            return subprocess.Popen(
                [
                    *(*MAIN, "run", "--no-times", "--definitions", "cases.py"),
                    *("--db", str(self.disk / "runs.db"), "--output", str(self.disk / output)),
                    *more,
                ],
                cwd=self.folder,
                env={**os.environ, "TMPDIR": str(self.folder / "tmp")},
                stdout=stream,
                stderr=subprocess.STDOUT,
            )

    def printed(self, output: str) -> str:
        """What that run said."""
        return (self.folder / f"{output}.log").read_text()


# Faults

Fault: TypeAlias = Callable[[int, Place, random.Random], None]


def send(numbers: tuple[signal.Signals, ...], sign: str | None = None) -> Fault:
    """Send signals, with a pause between: to a process below whose command line holds ``sign``.

    Without a sign, to the program itself.
    """

    def strike(pid: int, place: Place, chance: random.Random) -> None:
        victims = [pid] if sign is None else sorted(_called(below(pid), sign))
        victim = chance.choice(victims) if victims else None
        for number in numbers if victim else ():
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim or 0, number)
            if number is signal.SIGSTOP:
                time.sleep(chance.uniform(0.5, 2))

    return strike


def _called(processes: Iterable[int], sign: str) -> Iterable[int]:
    for pid in processes:
        with contextlib.suppress(OSError):
            if sign.encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
                yield pid


def fill_disk(pid: int, place: Place, chance: random.Random) -> None:
    """Leave no room for results for a while."""
    filler = fill(place.disk)
    time.sleep(chance.uniform(1, 3))
    filler.unlink()


KILL = (signal.SIGKILL,)
FAULTS: dict[str, tuple[int, Fault]] = {
    "any process is killed": (3, send(KILL, "")),
    "a process that counts is killed": (2, send(KILL, "callgrind")),
    "a worker is killed": (1, send(KILL, "worker.py")),
    "a keeper is killed": (1, send(KILL, "keeper.py")),
    "a compiler is killed": (1, send(KILL, "prelude.hpp")),
    "a process is stopped for a while": (1, send((signal.SIGSTOP, signal.SIGCONT), "")),
    "the disk is full for a while": (2, fill_disk),
    "SIGTERM": (1, send((signal.SIGTERM,))),
    "SIGINT": (1, send((signal.SIGINT,))),
    "SIGHUP": (1, send((signal.SIGHUP,))),
    "SIGKILL": (1, send(KILL)),
}
"""How likely each is, and what it does."""


def disturb(process: subprocess.Popen[bytes], place: Place, chance: random.Random) -> set[int]:
    """Let faults strike until the program ends; all processes that were seen below it."""
    seen: set[int] = set()
    weights = [weight for weight, _ in FAULTS.values()]
    left = chance.randint(2, 5)
    while process.poll() is None:
        comes_true(lambda: process.poll() is not None, within_s=chance.uniform(1, 6))
        seen.update(below(process.pid))
        if left and process.poll() is None:
            left -= 1
            (name,) = chance.choices(list(FAULTS), weights)
            print(f"fault: {name}")  # noqa: T201 - pytest shows it where the test fails
            FAULTS[name][1](process.pid, place, chance)
    return seen


def ok(records: tuple[Record, ...]) -> dict[str, Record]:
    """The cases that were measured, by their label."""
    return {record.label[0]: record for record in records if record.outcome.status is Status.OK}


def counts(records: dict[str, Record]) -> dict[str, int]:
    """The counts of Python cases that are exact."""
    return {
        label: record.outcome.instructions.per_run
        for label, record in records.items()
        if record.language is Language.PYTHON
        and record.outcome.instructions is not None
        and record.outcome.instructions.exact
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, int]:
    """The exact counts of all Python cases."""
    folder = tmp_path_factory.mktemp("undisturbed")
    place = Place.of(folder, folder, 0)
    assert 0 == place.start("a.json").wait()
    return counts(ok(read_json(folder / "a.json").cases))


@pytest.mark.parametrize("seed", seeds())
def test_nothing_that_was_finished_is_lost_and_nothing_is_left(
    seed: int, undisturbed: dict[str, int], tmp_path: Path
) -> None:
    """The run can go on in peace, and counts are those of a run that nothing disturbed."""
    with small_disk(tmp_path / "disk", "16m") as disk:
        place = Place.of(tmp_path, disk, seed)
        chance = random.Random(seed)  # noqa: S311
        seen = disturb(place.start("a.json"), place, chance)
        all_ended = comes_true(lambda: not any(map(is_running, seen)), within_s=60)
        file = disk / "a.json"
        finished = set(ok(read_json(file).cases)) if file.exists() else set()
        resume = ["--resume", str(file)] if file.exists() else []
        resumed = place.start("b.json", *resume).wait()
        in_file = ok(read_json(disk / "b.json").cases)
        with Store(str(disk / "runs.db")) as store:
            stored = [store.load(run.id).cases for run in store.summaries()]
        in_store = {label for cases in stored for label in ok(cases)}
    found = counts(in_file)
    known = {label: undisturbed[label] for label in found.keys() & undisturbed.keys()}

    assert all_ended
    assert finished <= in_file.keys()
    assert finished <= in_store
    assert 0 == resumed, place.printed("b.json")
    assert CASES == len(in_file)
    assert known == {label: found[label] for label in known}
    assert len(known) > CASES // 2
    assert "Traceback" not in place.printed("a.json")
    # The next run removes the folders of one that was killed.
    assert [] == list((tmp_path / "tmp").iterdir())
