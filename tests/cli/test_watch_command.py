"""``watch``, called as the console script calls it."""

import json
import signal
from pathlib import Path

import pytest

from instruction_counts.session.watching import held
from tests.cli.program import Program
from tests.process import running
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


def test_a_state_belongs_to_one_watch(tmp_path: Path, watch: Program) -> None:
    """Over one database: the same numbers of another are foreign runs. A second one ends at once.

    A look took longer than the time to the next one; it is not asked for builds.
    """
    watch("--command", "echo a=/nowhere/a")
    other = ("--db", tmp_path / "other.db")
    message = "belongs to another watch: it has another command, cases or database\n  Choose"
    assert message in watch.error("--command", "echo a=/nowhere/a", *other)
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

    def seen() -> list[str]:
        return list(json.loads(state.read_text())["state"]["seen"]) if state.exists() else []

    def looks_again() -> bool:
        before = looks.stat().st_size
        return comes_true(lambda: looks.stat().st_size > before + 10)

    with running(words, tmp_path) as watch:
        steps = [comes_true(lambda: seen() == ["c1"]), looks_again()]
        commits.unlink()
        steps.append(looks_again())
        commits.write_text("c1\nc2\nc3\n")
        steps.append(comes_true((tmp_path / "making").exists))
        watch.send_signal(signal.SIGTERM)
        said, _ = watch.communicate(timeout=600)

    assert [True] * 4 == steps, said
    assert 130 == watch.returncode, said
    assert ["c1", "c2"] == seen() == (tmp_path / "made").read_text().split()
    assert "--command ends with 1" in said
    assert "Traceback" not in said
