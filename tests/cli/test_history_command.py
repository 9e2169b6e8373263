"""``history``, called as the console script calls it."""

import json
from pathlib import Path

import pytest

from instruction_counts.storage.store import Store
from tests.cli.program import Program
from tests.history.made import stored

COUNTS = [1000, 1000, 1000, None, 1000, 1300, 1300, 1300]


@pytest.fixture
def history(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Program:
    """The command, over a step of 300 between the builds of the fifth and the sixth day."""
    path = tmp_path / "runs.db"
    with Store(path) as store:
        numbers = stored(store, COUNTS)
        for number in numbers[-2:]:
            store.tag(number, f"nightly-{number}")
    return Program(capsys, ("history", "--db", str(path)))


def test_the_step_is_shown_with_its_cause(history: Program) -> None:
    """From what is stored."""
    out = history.output("Group/add")

    assert "1,000 → 1,300  +300, +30.00%" in out
    assert "before  run 5, torch 2.13.0+cpu (00000005)" in out
    assert "after   run 6, torch 2.13.0+cpu (00000006)" in out
    assert "+300 at::slow (new)" in out
    assert "no count in run 4" in out


@pytest.mark.parametrize(
    ("args", "runs"),
    [(["--since", "2026-01-06T05:00"], [6, 7, 8]), (["--tag", "nightly-7", "--tag", "other"], [7])],
)
def test_runs_are_selected(args: list[str], runs: list[int], history: Program) -> None:
    """By time, number and tag."""
    (case,) = json.loads(history.output("Group/add", "--format", "json", *args))["cases"]

    assert runs == [point["run"] for segment in case["segments"] for point in segment["points"]]


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["Group/ad"], "no case in the store matches 'Group/ad'. Near: Group/add, Group."),
        (["Group/add", "--language", "python"], "has no case of these modes"),
        (["Group/add", "--since", "2027-01-01"], "no run with this case is left"),
    ],
)
def test_what_is_not_there_is_named(args: list[str], message: str, history: Program) -> None:
    """With what to do."""
    assert message in history.error(*args)
