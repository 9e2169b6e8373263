"""``compare``, called as the console script calls it, on files and stored runs."""

import sys
from pathlib import Path
from typing import TypeAlias

import pytest

from instruction_counts.engines.machine import DEFAULT_MACHINE
from tests.builders import counted, file_of, run_of
from tests.cli.program import Program
from tests.fakes import make_record, make_run

COMMAND = ("compare",)
BASE = {"same": 1000, "worse": 1000, "better": 1000, "missing": 1000}
NEW = {"same": 1000, "worse": 1500, "better": 800, "added": 1000}
CYCLES = ("--metrics", "cycles")
Files: TypeAlias = tuple[str, str]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Two runs in files."""
    base, new = run_of(BASE), run_of(NEW)
    return file_of(base, tmp_path / "base.json"), file_of(new, tmp_path / "new.json")


def test_the_exit_code_is_that_of_what_is_selected(files: Files, program: Program) -> None:
    """Without a regression all is well, whatever got better or is on one side only.

    Cycles that nobody estimated, and times of another kind, would fail nothing and seem to pass.
    """
    out = program.output(*files, *(f"--only=*/{name}" for name in ("same", "better", "added")))

    assert "3 cases: 1 same · 1 better · 1 added" in out
    assert 3 == program(*files).code
    more = ["--only", "*/worse", "--db", "/nowhere/runs.db"]  # files need none
    assert [0, 3] == [program(*files, "--min-effect", text, *more).code for text in ("60%", "49%")]
    without = [program.error(*files, "--fail-on", what) for what in ("cycles", "slower")]
    assert "no case has estimated cycles on both sides" in without[0]
    assert "no case was timed in turns" in without[1]


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        ([], 1, "Compare counted runs of the same cases."),
        (["--fail-on", "any"], 1, "nothing was compared"),
        (["--gate", "LIMITS"], 1, "NOTHING WAS COMPARED"),
        (["--fail-on", "never"], 0, ""),
    ],
)
def test_a_comparison_of_nothing_does_not_pass(
    args: list[str], code: int, said: str, tmp_path: Path, program: Program
) -> None:
    """It is an error after what it shows, unless nothing is to fail."""
    (tmp_path / "limits.yaml").write_text("default: {hard: 1%}")
    given = [tmp_path / "limits.yaml" if arg == "LIMITS" else arg for arg in args]
    sides = [file_of(run_of({name: 1000}), tmp_path / f"{name}.json") for name in ("old", "new")]
    done = program(*sides, *given)

    assert code == done.code
    assert "2 cases: 1 added · 1 missing" in done.out
    assert said in done.out + done.err


def test_a_limit_that_matches_no_case_is_named(
    files: Files, tmp_path: Path, program: Program
) -> None:
    """Of all cases of both sides: what is not selected is no mistake."""
    path = tmp_path / "limits.yaml"
    path.write_text("limits: [{only: Nix, hard: 1%}, {only: '*/added', hard: 1%}]")
    said = program(*files, f"--gate={path}", "--only", "*/same").err

    assert f"Limits: no case of {files[0]} or {files[1]} matches Nix\n" == said


def test_many_cases_are_cut_short(files: Files, program: Program) -> None:
    """It is said, and how to see them all; the last line is what to type next."""
    slower = {f"case {number}": 2000 for number in range(30)}
    for path, counts in zip(files, (dict.fromkeys(slower, 1000), slower), strict=True):
        file_of(run_of(counts), Path(path))
    shown = [program(*files, *more).out for more in ([], ["--limit", "0"])]

    assert [20, 30] == [text.count("1,000  2,000  +1,000  +100.00%") for text in shown]
    command = f"Next: instruction-counts explain {' '.join(files)} 'Group/case 0'"
    assert command == shown[0].splitlines()[-1]


def test_a_side_that_is_not_there_is_named(program: Program) -> None:
    """With what it could have been, before the other one is measured."""
    build = ("new", f"--build=new={sys.executable}")
    message = '"nosuchrun" is neither a build, an interpreter, a JSON file nor a stored run'

    assert message in program.error("nosuchrun", *build, "--definitions", "/nowhere.py")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (
            ["new", f"--build=new={sys.executable}", "--only", "Nothing"],
            "base.json contains no selected case",
        ),
        (["NEW", "--only", "*/same", "--only", "Grup"], "No case matches 'Grup'. Near: Group"),
        (["BASE"], "base and new are both "),
        (["no/python"], "there is no interpreter, virtual environment or file no/python"),
        ([f"old={sys.executable}"], "needs an option: --build NAME=PYTHON"),
        (["NEW", "--time-budget", "60"], "--time-budget: nothing is measured"),
        # Whatever the default is: what is given says what is expected.
        (["NEW", "--engine", "fork"], "--engine: nothing is measured"),
        (["NEW", "--timeout", "60"], "--timeout: nothing is measured"),
        (["NEW", "--no-counts"], "--no-counts: nothing is measured"),
        (["NEW", f"--build=x={sys.executable}"], "--build: nothing is measured"),
        # Cycles that nobody estimated would fail nothing, and seem to pass.
        (["NEW", "--metrics", "cycles"], "--metrics: nothing is measured"),
        (["NEW", "--machine", str(DEFAULT_MACHINE)], "--machine: no cycles are estimated"),
        (["PYTHON", "--fail-on", "cycles"], "--fail-on cycles: none are estimated"),
        (["PYTHON", "--fail-on", "slower"], "--fail-on slower: nothing is timed in turns"),
        (["PYTHON", *CYCLES, "--no-counts"], "--no-counts exclude each other"),
        (["PYTHON", *CYCLES, "--engine", "timer"], "requires the fork engine"),
        (["PYTHON", *CYCLES, "--machine", "/nowhere.yaml"], "/nowhere.yaml: No such file"),
    ],
)
def test_what_cannot_be_compared_so_is_refused_before_anything_is_measured(
    args: list[str], message: str, files: Files, tmp_path: Path, program: Program
) -> None:
    """Which can take an hour; here even its definitions are not there."""
    sides = {"BASE": files[0], "NEW": files[1], "PYTHON": sys.executable}
    where = ["--db", tmp_path / "runs.db", "--definitions", "/nowhere.py"]

    assert message in program.error(files[0], *(sides.get(arg, arg) for arg in args), *where)


def test_definitions_select_among_what_is_stored(
    files: Files, tmp_path: Path, program: Program
) -> None:
    """As --only does; cases that no definition gives are not compared."""
    definitions = tmp_path / "one.py"
    definitions.write_text(
        "from core.api import GroupedStmts\n"
        "case = GroupedStmts(None, 'x;')\n"
        "BENCHMARKS = {('Group', 'better'): case, ('Group', 'unknown'): case}\n"
    )

    assert "1 case: 1 better" in program.output(*files, "--definitions", definitions)
    assert "nix.py" in program.error(*files, "--definitions", "nix.py")


def test_two_builds_of_one_run_are_compared(tmp_path: Path, program: Program) -> None:
    """They are named after a colon."""
    records = [
        make_record("a", outcome=counted(count), build=build)
        for build, count in (("old", 1000), ("new", 2000))
    ]
    path = file_of(make_run(*records, builds=("old", "new")), tmp_path / "two.json")

    assert 3 == program(f"{path}:old", f"{path}:new").code
    assert 3 == program(path).code  # both of its builds


def test_an_interpreter_a_virtual_environment_or_a_lock_file_is_a_build(
    files: Files, tmp_path: Path, program: Program
) -> None:
    """Without a name; it is looked at before anything is measured."""
    environment = tmp_path / "venv"
    (environment / "bin").mkdir(parents=True)
    (environment / "bin" / "python").symlink_to(sys.executable)
    (tmp_path / "new.txt").write_text("torch==2.13.0")
    more = ["--db", tmp_path / "runs.db", "--definitions", "/nowhere.py"]

    for build in (sys.executable, environment, tmp_path / "new.txt"):
        assert "/nowhere.py" in program.error(files[0], build, *more)
