"""Runs of 40 cases that are disturbed at random times, by faults drawn from a seed.

A seed gives the same faults in the same order; when they strike depends on the machine.
"""

from __future__ import annotations

import contextlib
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs

from tests.small_disk import fill
from tests.waiting import comes_true, is_running

ROOT = Path(__file__).resolve().parents[2]
CASES = 40
_FINISHED = re.compile(r"^\[\d+/\d+\] ok +(c\d\d) ", re.MULTILINE)


@attrs.frozen
class Place:
    """Where a run happens: its definitions, and a small disk for the results."""

    folder: Path
    disk: Path

    @property
    def definitions(self) -> Path:
        """The file with the cases."""
        return self.folder / "cases.py"

    @property
    def temporary(self) -> Path:
        """The folder for temporary files."""
        return self.folder / "tmp"

    @property
    def database(self) -> Path:
        """Where the run is stored."""
        return self.disk / "runs.db"

    def write(self, seed: int) -> None:
        """The definitions: statements of increasing cost, and a C++ one that no cache holds."""
        self.temporary.mkdir(mode=0o700)
        lines = [
            "from core.api import Language, TimerArgs",
            'SETUP = "x = torch.ones(8)"',
            f"LABELS = [f'c{{n:02}}' for n in range({CASES - 1})]",
            "STATEMENTS = ['\\n'.join(['x + 1'] * (1 + n)) for n in range(len(LABELS))]",
            "BENCHMARKS = {n: TimerArgs(s, SETUP) for n, s in zip(LABELS, STATEMENTS)}",
            f"BENCHMARKS['c{CASES - 1}'] = TimerArgs(",
            f"    'x.add({seed});', 'auto x = torch::ones({{8}});', language=Language.CPP)",
        ]
        self.definitions.write_text("\n".join(lines))

    def arguments(self, output: str, *more: str) -> list[str]:
        """The command that measures the cases."""
        return [
            *(sys.executable, str(ROOT / "main.py"), "run", "--no-times"),
            *("--definitions", str(self.definitions), "--db", str(self.database)),
            *("--output", str(self.disk / output), *more),
        ]

    @property
    def environment(self) -> dict[str, str]:
        """That of the program."""
        return {**os.environ, "TMPDIR": str(self.temporary)}


@attrs.define
class Disturbed:
    """A run that was disturbed, and what is known of it."""

    code: int
    printed: str
    faults: list[str]
    processes: list[int]
    """All that were seen below it."""

    @property
    def finished(self) -> set[str]:
        """The cases that it said were finished."""
        return set(_FINISHED.findall(self.printed))


def disturb(place: Place, seed: int) -> Disturbed:
    """Run the cases, and let faults strike until the program ends."""
    chance = random.Random(seed)  # noqa: S311
    log = place.folder / "printed"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            place.arguments("a.json"),
            cwd=place.folder,
            env=place.environment,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
    faults, seen = [], set()
    left = chance.randint(2, 5)
    while process.poll() is None:
        pause_s = chance.uniform(1, 6)
        comes_true(lambda: process.poll() is not None, within_s=pause_s)
        seen.update(below(process.pid))
        if left and process.poll() is None:
            left -= 1
            name, fault = chance.choice(_FAULTS)
            faults.append(name)
            fault(process.pid, place, chance)
    return Disturbed(process.returncode, log.read_text(), faults, sorted(seen))


def below(pid: int) -> list[int]:
    """The processes that descend from one."""
    children: dict[int, list[int]] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = path.read_text().rpartition(")")[2].split()
            children.setdefault(int(fields[1]), []).append(int(path.parent.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        mine = children.get(waiting.pop(), [])
        found += mine
        waiting += mine
    return found


def command(pid: int) -> str:
    """The command line of a process; empty where it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode()
    except OSError:
        return ""


# Faults

_Fault = Callable[[int, Place, random.Random], None]


def _kill(*signs: str) -> _Fault:
    """Kill a process below the program, in whose command line all of ``signs`` stand."""

    def strike(pid: int, place: Place, chance: random.Random) -> None:
        del place
        for victim in _chosen(pid, chance, signs):
            with contextlib.suppress(ProcessLookupError):
                os.kill(victim, signal.SIGKILL)

    return strike


def _chosen(pid: int, chance: random.Random, signs: tuple[str, ...]) -> Iterator[int]:
    found = sorted(
        process for process in below(pid) if all(sign in command(process) for sign in signs)
    )
    if found:
        yield chance.choice(found)


def _stop(pid: int, place: Place, chance: random.Random) -> None:
    """Stop any process below the program, and let it go on after a while."""
    del place
    for victim in _chosen(pid, chance, ()):
        with contextlib.suppress(ProcessLookupError):
            os.kill(victim, signal.SIGSTOP)
            time.sleep(chance.uniform(0.5, 2))
            os.kill(victim, signal.SIGCONT)


def _fill_disk(pid: int, place: Place, chance: random.Random) -> None:
    """Leave no room for results for a while."""
    del pid
    filler = fill(place.disk)
    time.sleep(chance.uniform(1, 3))
    filler.unlink()


def _signal(number: signal.Signals) -> _Fault:
    def strike(pid: int, place: Place, chance: random.Random) -> None:
        del place, chance
        os.kill(pid, number)

    return strike


_FAULTS: list[tuple[str, _Fault]] = [
    *(("any process is killed", _kill()),) * 3,
    *(("a process that counts is killed", _kill("callgrind")),) * 2,
    ("a worker is killed", _kill("worker.py")),
    ("a keeper is killed", _kill("keeper.py")),
    ("a compiler is killed", _kill("cc1plus")),
    ("a process is stopped for a while", _stop),
    *(("the disk is full for a while", _fill_disk),) * 2,
    ("SIGTERM", _signal(signal.SIGTERM)),
    ("SIGINT", _signal(signal.SIGINT)),
    ("SIGHUP", _signal(signal.SIGHUP)),
    ("SIGKILL", _signal(signal.SIGKILL)),
]


def all_end(processes: list[int]) -> list[int]:
    """Those that do not end within a while."""
    comes_true(lambda: not any(map(is_running, processes)), within_s=60)
    return [pid for pid in processes if is_running(pid)]
