"""``--shard``, ``--balance`` and ``runs merge``, and the workflow that uses them."""

import json
import shutil
from pathlib import Path

import attrs
import pytest

from instruction_counts.cli.measuring import Asked, run_options
from instruction_counts.domain.records import Run
from instruction_counts.domain.selection import Selection
from instruction_counts.domain.shards import Shard
from instruction_counts.storage.json_files import read_json
from tests.builders import counted, to_json
from tests.cli.program import Program, given
from tests.fakes import make_case, make_record, make_run
from tests.process import in_ci, workflow_steps, write_definitions
from tests.real import NEEDS_VALGRIND

LABELS = [str(number) for number in range(6)]
CASES = [make_case(label) for label in LABELS]


def run_of(shard: Shard | None = None) -> Run:
    """A run of all cases, or of a shard of them."""
    labels = [case.label[0] for case in CASES if shard is None or shard.keeps(case.key)]
    run = make_run(*(make_record(label, outcome=counted(1000)) for label in labels))
    return attrs.evolve(run, shard=shard and shard.of(CASES, "counts"))


@pytest.fixture
def folder(here: Path) -> Path:
    """Where ``shard-1.json``, ``shard-2.json`` and ``whole.json`` are, and the program runs."""
    for number in (1, 2):
        (here / f"shard-{number}.json").write_text(to_json(run_of(Shard(number, 2))))
    (here / "whole.json").write_text(to_json(run_of()))
    return here


def test_merged_files_are_saved_as_one_run(folder: Path, program: Program) -> None:
    """It is shown as it would have been; a file that is refused writes nothing.

    A shard says what it is, so that nobody takes it for the whole.
    """
    held = len(read_json(folder / "shard-1.json").cases)
    shown = program.output("runs", "merge", "shard-2.json", "shard-1.json", "--output", "all.json")
    error = program.error("runs", "merge", "shard-2.json", "whole.json", "--output", "no.json")

    assert run_of() == read_json(folder / "all.json")
    assert "6 cases: 6 ok" in shown
    assert error.startswith("whole.json is not a shard: it was measured without --shard\n  Name")
    assert not (folder / "no.json").exists()
    assert f"shard 1/2: {held} of 6 cases" in program.output("runs", "show", "shard-1.json")


def test_shards_of_a_comparison_are_the_whole(folder: Path, program: Program) -> None:
    """Each job judges its part."""
    judged = []
    for shard in ("1/3", "2/3", "3/3"):
        args = ("whole.json", "again.json", "--shard", shard, "--format", "json")
        shutil.copy(folder / "whole.json", folder / "again.json")
        found = json.loads(program.output("compare", *args))["cases"]
        judged += [case["label"][0] for case in found]

    assert LABELS == sorted(judged)


def test_shards_are_balanced_by_what_cases_took_before(folder: Path) -> None:
    """On all builds together."""
    outcome = attrs.evolve(counted(1000), duration_s=2.0)
    slow = [make_record("0", outcome=outcome, build=build) for build in ("base", "new")]
    (folder / "whole.json").write_text(to_json(make_run(*slow, builds=("base", "new"))))
    asked: Asked = given(run_options, "--shard", "1/2", "--balance", "whole.json")

    assert Selection(shard=Shard(1, 2).balanced({CASES[0].key: 4.0})) == asked.how.selection


def test_the_example_workflow_merges_and_checks(folder: Path, program: Program) -> None:
    """Its step is run as it stands there."""
    (step,) = (s["run"] for s in workflow_steps("shards") if "merge" in s.get("run", ""))
    program.output("baseline", "accept", "baseline.json", "whole.json")
    (folder / "limits.yaml").write_text("default: {hard: 1%}\n")
    done = in_ci(step, folder)

    assert 0 == done.returncode, done.stderr
    assert "PASSES: 6 cases" in done.stdout


@pytest.mark.slow
@NEEDS_VALGRIND
@pytest.mark.thorough
def test_measured_shards_have_the_counts_of_one_run(
    folder: Path, program: Program, monkeypatch: pytest.MonkeyPatch
) -> None:
    """To the instruction; the second shards are balanced by the first run."""
    monkeypatch.setenv("INSTRUCTION_COUNTS_DB", str(folder / "runs.db"))
    write_definitions(folder, **{str(number): f"x = {number}" for number in range(4)})
    run = ("run", "--definitions", "cases.py", "--no-times", "--output")
    program.output(*run, "run.json")
    for number in "12":
        shard = ("--shard", f"{number}/2", "--balance", "run.json")
        program.output(*run, f"shard-{number}.json", *shard)
    program.output("runs", "merge", "shard-1.json", "shard-2.json", "--output", "all.json")
    alone, together = (
        [(case.key, case.outcome.instructions, case.outcome.functions) for case in read.cases]
        for read in map(read_json, (folder / "run.json", folder / "all.json"))
    )

    held = [len(read_json(folder / f"shard-{number}.json").cases) for number in "12"]

    assert 0 not in held
    assert 4 == sum(held)
    assert alone == together
