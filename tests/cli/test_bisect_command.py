"""``bisect``, called as the console script calls it."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import attrs
import pytest
import yaml

from benchmarks import injected
from instruction_counts import cli
from instruction_counts.domain.errors import BuildError, UsageError
from instruction_counts.session.made_builds import made_build

CASES = """\
from core.api import GroupedSetup, GroupedStmts

SETUP = GroupedSetup("x = torch.ones(4, 4)")
BENCHMARKS = {"mm": GroupedStmts("torch.mm(x, x)", None, SETUP)}
"""


@pytest.fixture
def definitions(tmp_path: Path) -> str:
    """A file with one case."""
    path = tmp_path / "cases.py"
    path.write_text(CASES)
    return str(path)


def test_a_build_command_makes_the_build_of_a_commit(tmp_path: Path) -> None:
    """What it prints last is where the build is; the commit is one word to the shell."""
    (tmp_path / "a b").touch()
    command = f"echo log; echo {tmp_path}/{{commit}}"

    assert str(tmp_path / "a b") == made_build(command, "a b", {}, print).python


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("exit 3 # {commit}", "c1: the build command ends with 3"),
        ("true {commit}", "c1: the build command prints nothing"),
        ("echo /nowhere/{commit}", 'build "c1": there is no interpreter at /nowhere/c1'),
    ],
)
def test_a_commit_that_cannot_be_built_is_broken(command: str, message: str) -> None:
    """The search goes on without it."""
    with pytest.raises(BuildError) as caught:
        made_build(command, "c1", {}, print)

    assert message == caught.value.message


@pytest.mark.parametrize("template", ["echo {commit}", "echo '{commit}'", 'echo "{commit}"'])
@pytest.mark.parametrize("quote", ["'", '"', "", "$(", "`"])
def test_a_commit_cannot_end_the_quotes_of_a_command(
    template: str, quote: str, tmp_path: Path
) -> None:
    """Nor run anything: it is in the environment, and no text of the command."""
    mark = tmp_path / "mark"
    with pytest.raises(BuildError, match="there is no interpreter"):
        made_build(template, f"{quote};touch {mark};{quote}", {}, print)

    assert not mark.exists()


def test_a_command_in_a_command_gets_the_commit() -> None:
    """It inherits the variable."""
    with pytest.raises(BuildError, match="no interpreter at /nowhere/c1"):
        made_build("""bash -c 'echo "/nowhere/$COMMIT"'""", "c1", {}, print)


def test_a_build_command_that_reuses_one_place_is_refused() -> None:
    """Two builds are measured side by side, so that each needs a place of its own."""
    made: dict[str, str] = {}
    made_build(f"echo {sys.executable}", "c1", made, print)
    with pytest.raises(UsageError, match="made c1 and c2 in one place"):
        made_build(f"echo {sys.executable}", "c2", made, print)


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "a bisection needs at least two builds"),
        (["--build", "a=/x"], "a bisection needs at least two builds"),
        (["--build", "a=/x", "--build", "a=/y"], 'two builds are called "a"'),
        (["--build", "/x", "--build", "b=/y"], '--build "/x" is not NAME=PYTHON'),
        (["--build-cmd", "make {commit}"], "builds are either given, or made of commits"),
        (["--commits", "COMMITS"], "builds are either given, or made of commits"),
        (["--commits", "COMMITS", "--build-cmd", "make"], "--build-cmd does not say {commit}"),
        (
            ["--commits", "COMMITS", "--build-cmd", "make {commit}", "--build", "a=/x"],
            "builds are either given, or made of commits",
        ),
        (["--no-counts", "--build", "a=/x"], "leaves nothing to bisect by"),
    ],
)
def test_options_that_make_no_sense_are_refused(
    args: list[str],
    message: str,
    definitions: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Before anything is measured, with what to do."""
    commits = tmp_path / "commits"
    commits.write_text("c1\nc2  # the second\n\n# nothing\n")
    given = [str(commits) if one == "COMMITS" else one for one in args]
    code = cli.main(["bisect", "mm", "--definitions", definitions, *given])

    assert (1, True) == (code, message in capsys.readouterr().err)


def test_a_label_that_leaves_several_cases_is_refused(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They are listed."""
    code = cli.main(["bisect", "MatMul", "--build", "a=/x", "--build", "b=/y"])
    written = capsys.readouterr().err

    assert (1, True, True) == (code, "cases match 'MatMul'" in written, "Narrow it" in written)


def test_builds_that_do_not_start_are_all_named(
    definitions: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """There is nothing to search in."""
    builds = [f"--build={name}=/nowhere/{name}" for name in ("a", "b")]
    database = ["--db", str(tmp_path / "runs.db")]
    code = cli.main(["bisect", "mm", "--definitions", definitions, *builds, *database])
    written = capsys.readouterr()

    assert (1, True) == (code, "Fewer than two builds can be measured." in written.err)
    assert [1, 1] == [written.out.count(f"there is no interpreter at /nowhere/{n}") for n in "ab"]


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.skipif(not shutil.which("valgrind"), reason="Valgrind is missing")
def test_a_wrapper_is_found_among_real_builds(
    definitions: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """From the third of five builds on, of which the second does not work; then from the store."""
    builds = []
    for number in range(1, 6):
        folder = tmp_path / f"site {number}"
        made = injected.wrapped(f"b{number}", sys.executable, folder, ["mm"] * (number >= 3))
        builds.append({name: value for name, value in attrs.asdict(made).items() if value})
    (tmp_path / "site 2" / "sitecustomize.py").write_text("import sys\nsys.exit('broken')\n")
    (tmp_path / "builds.yaml").write_text(yaml.safe_dump({"builds": builds}))
    command = ["bisect", "mm", "--definitions", definitions, "--format", "json"]
    command += ["--builds", str(tmp_path / "builds.yaml"), "--db", str(tmp_path / "runs.db")]
    found = []
    for layouts in ("1", "0"):
        assert 3 == cli.main([*command, "--layouts", layouts])
        found.append(json.loads(capsys.readouterr().out))
    (change,) = found[0]["changes"]

    assert ("b1", "b3", ["b2"], "worse", True) == tuple(
        change[name] for name in ("before", "after", "broken", "verdict", "verified")
    )
    assert ([change["change"]], 0, 2) == (
        [one["change"] for one in found[1]["changes"]],
        found[0]["reused"],
        found[1]["measurements"],
    )
