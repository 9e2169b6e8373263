"""``time``: how statements are typed, and what it answers."""

import json
import shlex
from pathlib import Path

import pytest

from instruction_counts.cli.statement_options import statement_options
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.work import Statements
from instruction_counts.storage.json_files import read_json
from tests.cli.program import Program, given
from tests.real import NEEDS_VALGRIND


def typed(*args: str, stdin: bytes = b"") -> Statements:
    """What the options make of these words."""
    found: Statements = given(statement_options, *args, stdin=stdin)
    return found


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("'x + y' -s 'x = 1' --setup 'y = 2'", Statements(("x + y",), setup="x = 1\ny = 2")),
        # With --language c++ the setup is C++, too.
        (
            "'x + y;' --language c++ -s 'int x;' -s 'int y;' --global-setup '#include <map>'",
            Statements(*(("x + y;",), True), setup="int x;\nint y;", global_setup="#include <map>"),
        ),
        # Modes, several of each, once.
        (
            """x --backward --signature 'f(x) -> x' --runtime eager --runtime TorchScript
            --num-threads 2 --num-threads 1 --num-threads 2""",
            Statements(
                ("x",),
                signature="f(x) -> x",
                runtimes=("eager", "torchscript"),
                autograd=True,
                num_threads=(2, 1),
            ),
        ),
    ],
    ids=["Python", "C++", "modes"],
)
def test_statements_are_typed_as_for_timeit(line: str, expected: Statements) -> None:
    """With the lines of their setup."""
    assert expected == typed(*shlex.split(line))


def test_a_dash_is_standard_input() -> None:
    """For a statement, or a line of a setup."""
    assert ("z = 'é'",) == typed("-", stdin="z = 'é'\n".encode()).stmts
    assert "a = 1\nb = 2" == typed("x", "-s", "a = 1", "-s", "-", stdin=b"b = 2\n").setup


def test_standard_input_is_text() -> None:
    """With what to do; `test_commands` has what else is refused."""
    with pytest.raises(UsageError, match="not UTF-8 text"):
        typed("-", stdin=b"\xff")


@pytest.mark.slow
@NEEDS_VALGRIND
def test_two_statements_are_measured_and_compared(tmp_path: Path, program: Program) -> None:
    """For real; as cases of a file they cost the same."""
    path = tmp_path / "cases.py"
    path.write_text(
        "from core.api import GroupedSetup, GroupedStmts\n"
        "SETUP = GroupedSetup('x = torch.ones(4, 4)\\ny = x + 1')\n"
        "STMTS = ('x + y', 'torch.add(x, y)')\n"
        "BENCHMARKS = {stmt: GroupedStmts(stmt, setup=SETUP) for stmt in STMTS}\n"
    )
    answer = program(
        *("time", "x + y", "torch.add(x, y)", "-s", "x = torch.ones(4, 4)", "-s", "y = x + 1"),
        *("--no-times", "--format", "json"),
    )
    assert 0 == answer.code, answer.err

    first, second = json.loads(answer.out)["statements"]
    assert 1 == first["metrics"]["operator_calls"] == second["metrics"]["operator_calls"]
    assert first["metrics"]["bytecodes"] < second["metrics"]["bytecodes"]
    assert second["instructions"] - first["instructions"] == second["difference"]["change"]
    assert second["difference"]["causes"][0].startswith("<case> statement")
    assert 3 == len(first["most_in"])

    output, db = tmp_path / "run.json", tmp_path / "runs.db"
    program.output("run", "--definitions", path, "--no-times", "--output", output, "--db", db)
    counts = [record.outcome.instructions for record in read_json(output).cases]
    assert [first["instructions"], second["instructions"]] == [
        counted and counted.per_run for counted in counts
    ]
