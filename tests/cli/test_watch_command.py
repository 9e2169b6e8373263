"""``watch``, called as the console script calls it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from benchmarks import injected
from instruction_counts.session.watch_state import held
from tests.cli.program import Program
from tests.process import MAIN, write_definitions
from tests.real import NEEDS_VALGRIND
from tests.waiting import comes_true


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
        (["--command", "true", "--output", "no/s.jsonl"], "no/s.jsonl: there is no folder no"),
        (["--command", "exit 2"], "--command ends with 2"),
        (["--command", "echo c1"], '"c1" is not NAME=PYTHON'),
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


def test_a_watch_goes_round_until_it_is_interrupted(tmp_path: Path) -> None:
    """A list that fails once does not end it; a build at hand at the end is not taken for seen."""
    looks, commits, state = (tmp_path / name for name in ("looks", "commits", "state.json"))
    commits.write_text("c1\n")
    making = "[ {commit} = c3 ] && touch making && exec sleep 300; echo {commit} >> made; exit 4"
    words = ["watch", "--every", "0.1", "--command", "echo look >> looks; cat commits"]
    words += ["--build-cmd", making, "--db", "runs.db", "--state", state.name]
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    watch = subprocess.Popen([*MAIN, *words], cwd=tmp_path, start_new_session=True, **output)

    def seen() -> list[str]:
        return list(json.loads(state.read_text())["state"]["seen"]) if state.exists() else []

    def looks_again() -> bool:
        before = looks.stat().st_size
        return comes_true(lambda: looks.stat().st_size > before + 10)

    try:
        steps = [comes_true(lambda: seen() == ["c1"]), looks_again()]
        commits.unlink()
        steps.append(looks_again())
        commits.write_text("c1\nc2\nc3\n")
        steps.append(comes_true((tmp_path / "making").exists))
        watch.send_signal(signal.SIGTERM)
        watch.wait(600)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(watch.pid, signal.SIGKILL)
    said, _ = watch.communicate()

    assert [True] * 4 == steps, said
    assert 130 == watch.returncode, said
    assert ["c1", "c2"] == seen() == (tmp_path / "made").read_text().split()
    assert "--command ends with 1" in said
    assert "Traceback" not in said


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
@NEEDS_VALGRIND
def test_a_wrapper_in_a_new_build_is_reported_once(tmp_path: Path, watch: Program) -> None:
    """Real builds, made by a command; the second one is slower."""
    venv_of(tmp_path / "c1", [])
    venv_of(tmp_path / "c2", ["mm"])
    commits = tmp_path / "commits"
    command = ["--command", f"cat {commits}", "--build-cmd", f"echo {tmp_path}/{{commit}}"]
    definitions = write_definitions(tmp_path, "x = torch.ones(4, 4)", mm="torch.mm(x, x)")
    command += ["--definitions", definitions]
    answers = []
    for text in ("c1\n", "c1\nc2\n", "c1\nc2\n"):
        commits.write_text(text)
        answers.append(watch(*command, "--output", "-"))
    (step,) = map(json.loads, answers[1].out.splitlines())

    assert [0, 3, 0] == [answer.code for answer in answers]
    assert ["", ""] == [answers[0].out, answers[2].out]
    expected = {"base": "c1", "new": "c2", "verdict": "worse", "verified": True}
    assert expected.items() <= step.items()
