"""``bisect``, called as the console script calls it."""

import json
import sys
from pathlib import Path

import attrs
import pytest
import yaml

from benchmarks import injected
from tests.cli.program import Program
from tests.process import write_definitions
from tests.real import NEEDS_VALGRIND


@pytest.fixture
def definitions(tmp_path: Path) -> str:
    """A file with two cases."""
    statements = {name: f"torch.{name}(x, x)" for name in ("mm", "mul")}
    return write_definitions(tmp_path, "x = torch.ones(4, 4)", **statements)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--build", "a=/x"], "a bisection needs at least two builds"),
        (["--build", "a=/x", "--build", "a=/y"], 'two builds are called "a"'),
        (["--build", "a=/x", "--build", "b=/y"], "2 cases match 'm*'"),
        (["--command", "echo c1; echo c2"], '"c1" is not NAME=PYTHON'),
        (["--command", "exit 2"], "--command ends with 2"),
        (["--command", "echo c1", "--build", "a=/x"], "--build and --command exclude each other"),
        (["--build-cmd", "make {commit}"], "--build-cmd is for commits"),
        (["--command", "echo a=/x"], "at least two builds, and --command prints 1"),
        (["--command", "echo c1", "--build-cmd", "make"], "--build-cmd does not contain {commit}"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    args: list[str], message: str, definitions: str, program: Program
) -> None:
    """Before anything is measured, with what to do."""
    assert message in program.error("bisect", "m*", "--definitions", definitions, *args)


@pytest.mark.parametrize(
    ("args", "reason"),
    [
        ([f"--build={name}=/nowhere/{name}" for name in "ab"], "no interpreter at /nowhere/"),
        (
            ["--command", "echo a; echo; echo ' b'", "--build-cmd", "exit 4 # {commit}"],
            "the build command ends with 4",
        ),
    ],
    ids=["given", "made of commits"],
)
def test_builds_that_do_not_start_are_all_named(
    args: list[str], reason: str, definitions: str, tmp_path: Path, program: Program
) -> None:
    """There is nothing to search in."""
    database = ["--db", str(tmp_path / "runs.db")]
    written = program("bisect", "mm", "--definitions", definitions, *args, *database)

    assert 1 == written.code
    assert "Fewer than two builds can be measured." in written.err
    assert "no change" not in written.out
    assert 2 == written.out.count(reason)


@pytest.mark.slow
@pytest.mark.thorough
@NEEDS_VALGRIND
def test_a_wrapper_is_found_among_real_builds(
    definitions: str, tmp_path: Path, program: Program
) -> None:
    """From the third of three builds on, of which the second does not work; then once more."""
    builds = []
    for number in range(1, 4):
        folder = tmp_path / f"site {number}"
        made = injected.wrapped(f"b{number}", sys.executable, folder, ["mm"] * (number >= 3))
        builds.append({name: value for name, value in attrs.asdict(made).items() if value})
    (tmp_path / "site 2" / "sitecustomize.py").write_text("import sys\nsys.exit('broken')\n")
    (tmp_path / "builds.yaml").write_text(yaml.safe_dump({"builds": builds}))
    command = ["bisect", "mm", "--definitions", definitions, "--format", "json"]
    command += ["--build", str(tmp_path / "builds.yaml"), "--db", str(tmp_path / "runs.db")]
    found = []
    for layouts in ([], ["--layouts", "0"]):
        answer = program(*command, *layouts)
        assert 3 == answer.code
        found.append(json.loads(answer.out))
    (change,) = found[0]["changes"]

    place = {"before": "b1", "after": "b3", "broken": ["b2"]}
    assert {**place, "verdict": "worse", "verified": True}.items() <= change.items()
    assert [change["change"]] == [change["change"] for change in found[1]["changes"]]
    assert 0 == found[0]["reused"]
    assert 2 == found[1]["measurements"]
