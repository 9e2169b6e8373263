"""``watch``, called as the console script calls it."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
import venv
from collections.abc import Callable, Iterator
from pathlib import Path

import attrs
import pytest

from benchmarks import injected
from instruction_counts.session.watch_state import held
from tests.cli.program import Program
from tests.process import MAIN

CASES = """\
from core.api import GroupedSetup, GroupedStmts

SETUP = GroupedSetup("x = torch.ones(4, 4)")
BENCHMARKS = {"mm": GroupedStmts("torch.mm(x, x)", None, SETUP)}
"""


@pytest.fixture
def watch(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Program:
    """The command, with files of its own."""
    files = ("--db", str(tmp_path / "runs.db"), "--state", str(tmp_path / "state.json"))
    return Program(capsys, ("watch", *files))


def test_a_build_that_does_not_start_is_passed_over_once(tmp_path: Path, watch: Program) -> None:
    """It is not tried at each look."""
    looks = [watch("--command", "echo a=/nowhere/a") for _ in range(2)]
    state = json.loads((tmp_path / "state.json").read_text())["state"]

    assert [0, 0] == [look.code for look in looks]
    assert ["a=/nowhere/a"] == state["seen"]
    assert [1, 0] == [look.err.count("a=/nowhere/a is broken and was skipped") for look in looks]
    assert ["New builds: 1. New steps: 0.", "There is no new build."] == [
        look.err.splitlines()[-1] for look in looks
    ]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--command", "true", "--build-cmd", "make"], "--build-cmd does not contain {commit}"),
        (["--command", "true", "--output", "no/s.jsonl"], "no/s.jsonl: there is no folder no"),
        (["--command", "exit 2"], "--command ends with 2"),
        (["--command", "echo c1"], 'prints "c1", which is not NAME=PYTHON'),
    ],
)
def test_what_makes_no_sense_is_refused(args: list[str], message: str, watch: Program) -> None:
    """With what to do."""
    assert message in watch.error(*args)


def test_a_state_belongs_to_one_watch(tmp_path: Path, watch: Program) -> None:
    """Over one database: the same numbers of another are foreign runs. A second one ends at once.

    A look took longer than the time to the next one; it is not asked for builds.
    """
    watch("--command", "echo a=/nowhere/a")
    other = ("--db", tmp_path / "other.db")
    assert "belongs to another watch" in watch.error("--command", "echo a=/nowhere/a", *other)
    with held(tmp_path / "state.json"):
        assert "another watch is using" in watch.error("--command", f"touch {tmp_path}/asked")

    assert not (tmp_path / "asked").exists()


def test_a_build_command_makes_the_builds(watch: Program) -> None:
    """One that fails is a broken build."""
    answer = watch("--command", "echo c1", "--build-cmd", "exit 4 # {commit}")

    assert 0 == answer.code
    assert "the build command ends with 4" in answer.err


@attrs.define
class Watching:
    """``watch --every`` as a process of its own, over builds that cannot be started."""

    folder: Path
    process: subprocess.Popen[str]

    @classmethod
    def begin(cls, folder: Path, build_cmd: str) -> Watching:
        """Look again and again at the commits in a file."""
        (folder / "commits").write_text("c1\n")
        command = [*MAIN, "watch", "--every", "0.1"]
        command += ["--command", f"echo look >> looks; cat {folder}/commits"]
        command += ["--build-cmd", build_cmd, "--db", "runs.db", "--state", "state.json"]
        output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
        return cls(folder, subprocess.Popen(command, cwd=folder, start_new_session=True, **output))

    @property
    def looks(self) -> int:
        """How often the command was asked for builds."""
        path = self.folder / "looks"
        return len(path.read_text().splitlines()) if path.exists() else 0

    @property
    def seen(self) -> list[str]:
        """The builds in the state that is kept."""
        path = self.folder / "state.json"
        return list(json.loads(path.read_text())["state"]["seen"]) if path.exists() else []

    def until(self, condition: Callable[[], bool]) -> bool:
        """Wait for it, as long as the process runs, and not for ever."""
        deadline = time.monotonic() + 500
        while not condition() and time.monotonic() < deadline and self.process.poll() is None:
            time.sleep(0.02)
        return condition()

    def ended_by(self, number: signal.Signals) -> tuple[int, str]:
        """The exit code after this signal, and what was said before and after it."""
        self.process.send_signal(number)
        output, _ = self.process.communicate(timeout=600)
        return self.process.returncode, output


@pytest.fixture
def watching_process(tmp_path: Path) -> Iterator[Callable[[str], Watching]]:
    """Begins a watch, given its build command; what still runs at the end is killed."""
    begun: list[Watching] = []
    # A shell starts what is to run in the background deaf to Ctrl-C, and so would we start it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def begin(build_cmd: str) -> Watching:
        begun.append(Watching.begin(tmp_path, build_cmd))
        return begun[-1]

    yield begin
    signal.signal(signal.SIGINT, before)
    for watcher in begun:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(watcher.process.pid, signal.SIGKILL)
        watcher.process.wait(300)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_watch_goes_round_until_it_is_interrupted(
    number: signal.Signals, watching_process: Callable[[str], Watching]
) -> None:
    """A list that fails once does not end it; a build at hand at the end is not taken for seen."""
    command = "[ {commit} = c3 ] && touch making && exec sleep 300; echo {commit} >> made; exit 4"
    watch = watching_process(command)
    commits = watch.folder / "commits"
    first = watch.until(lambda: watch.seen == ["c1"] and watch.looks >= 3)
    commits.unlink()
    looks = watch.looks
    goes_on = watch.until(lambda: watch.looks >= looks + 3)
    commits.write_text("c1\nc2\nc3\n")
    making = watch.until((watch.folder / "making").exists)
    code, output = watch.ended_by(number)

    assert [True] * 3 == [first, goes_on, making], output
    assert 130 == code, output
    assert ["c1", "c2"] == watch.seen
    assert ["c1", "c2"] == (watch.folder / "made").read_text().split()
    assert "--command ends with 1" in output
    assert "Traceback" not in output


def venv_of(folder: Path, functions: list[str]) -> None:
    """A virtual environment with our torch, in which there is a wrapper around ``functions``."""
    venv.create(folder, with_pip=False)
    (site,) = folder.glob("lib/python*/site-packages")
    injected.wrapped("", sys.executable, site, functions)
    (site / "sitecustomize.py").rename(site / "wrap_torch.py")
    (site / "a.pth").write_text(f"{sysconfig.get_path('purelib')}\n")
    (site / "b.pth").write_text("import wrap_torch\n")


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("valgrind"), reason="Valgrind is missing")
@pytest.mark.usefixtures("own_kept_engines")
def test_a_wrapper_in_a_new_build_is_reported_once(tmp_path: Path, watch: Program) -> None:
    """Real builds, made by a command; the second one is slower."""
    venv_of(tmp_path / "c1", [])
    venv_of(tmp_path / "c2", ["mm"])
    (tmp_path / "cases.py").write_text(CASES)
    commits = tmp_path / "commits"
    command = ["--command", f"cat {commits}", "--build-cmd", f"echo {tmp_path}/{{commit}}"]
    command += ["--definitions", str(tmp_path / "cases.py"), "--no-times"]
    answers = []
    for text in ("c1\n", "c1\nc2\n", "c1\nc2\n"):
        commits.write_text(text)
        answers.append(watch(*command, "--output", "-"))
    (step,) = map(json.loads, answers[1].out.splitlines())

    assert [0, 3, 0] == [answer.code for answer in answers]
    assert ["", ""] == [answers[0].out, answers[2].out]
    expected = {"base": "c1", "new": "c2", "verdict": "worse", "verified": True}
    assert expected.items() <= step.items()
