"""The magic in IPython's own shell, with a fake for the engine; once for real."""

import functools
import json
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

import instruction_counts
from instruction_counts.api import Result, Session
from instruction_counts.domain.work import Statements
from instruction_counts.execution.events import Silent
from instruction_counts.notebook.extension import load, parse, split, unload
from instruction_counts.session.builds import BuildRunner
from tests.fakes import BUILD, FACTS, FakeEngine, failed
from tests.real import NEEDS_VALGRIND
from tests.session.fakes import SETTINGS, fake_engines


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[InteractiveShell]:
    """A shell of its own, which keeps no history."""
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.colors = "nocolor"
    made = InteractiveShell(config=config, user_module=types.ModuleType("a_notebook"))
    yield made
    unload(made)


class Notebook:
    """A shell with the magic, whose engine answers from a script."""

    def __init__(self, shell: InteractiveShell, engine: FakeEngine) -> None:
        self.shell, self.engine, self.started = shell, engine, 0
        load(shell, functools.partial(Session, runner_of=self._runner))

    def _runner(self, *_: Any) -> BuildRunner:
        self.started += 1
        self.engine.closed.clear()
        return BuildRunner((FACTS,), SETTINGS, Silent())

    def run(self, cell: str) -> bool:
        """Whether the cell runs without an error."""
        return bool(self.shell.run_cell(cell).success)

    @property
    def setups(self) -> list[str]:
        """The setups of what was measured."""
        return [call.order.case.timer_args.setup for call in self.engine.calls]


@pytest.fixture
def notebook(shell: InteractiveShell) -> Iterator[Notebook]:
    """One whose statements succeed, unless they are called "bad"; "slow" is interrupted."""
    engine = FakeEngine({("bad",): [failed()], ("slow",): [KeyboardInterrupt()]})
    with fake_engines({BUILD.name: engine}):
        yield Notebook(shell, engine)


def test_the_package_offers_the_extension(shell: InteractiveShell) -> None:
    """By its name, and takes it back."""
    assert shell.run_cell("%load_ext instruction_counts").success
    assert shell.find_line_magic("icount") is not None
    assert shell.find_cell_magic("icount") is not None

    assert shell.run_cell("%unload_ext instruction_counts").success
    assert shell.find_line_magic("icount") is None


def test_a_statement_reads_the_names_of_the_notebook(
    notebook: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is shown as `time` shows it, and nothing else is. Braces are code, as of `%timeit`."""
    assert notebook.run("x = 1; y = [2]; unused = object()")
    assert notebook.run("%icount x + y[0]")
    assert notebook.run("%icount {x: '$x'}")

    assert ["x = 1\ny = [2]", "x = 1"] == notebook.setups
    captured = capsys.readouterr()
    assert "x + y[0]  8,899  2.2 us" in captured.out
    assert "" == captured.err


def test_of_a_cell_the_line_is_setup(notebook: Notebook) -> None:
    """It reads names of the notebook, too, and hides those that it makes."""
    assert notebook.run("base = 1; x = object()")
    assert notebook.run("%%icount --no-times x = base\nx + 1\n")

    assert ["base = 1\nx = base"] == notebook.setups
    assert "x + 1" == notebook.engine.calls[0].order.case.timer_args.stmt


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("next(held)", '"held" (builtins.generator) cannot be passed on: '),
        ("--nope x", "No such option"),
        ("", "Missing argument"),
        ("--setup 'x", "No closing quotation"),
        ("-", "no standard input"),
        ("--setup - x", "no standard input"),
        ("--build a=/bin/sh --build b=/bin/sh x", "%icount needs one build"),
    ],
)
def test_what_cannot_be_measured_says_why(
    line: str, said: str, notebook: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cell fails without a traceback, and nothing is measured."""
    assert notebook.run("held = (n for n in [1])")

    assert not notebook.run(f"%icount {line}")
    captured = capsys.readouterr()
    assert said in captured.out + captured.err
    assert "Traceback" not in captured.out + captured.err
    assert [] == notebook.engine.calls


def test_servers_stay_open(notebook: Notebook, capsys: pytest.CaptureFixture[str]) -> None:
    """Until others are needed, or the extension is unloaded; a failure is shown and ends none."""
    for line in ("x", "bad", "--no-times x", "--timeout 7s x"):
        assert notebook.run(f"%icount {line}")
    assert "bad · Python: ValueError: bad   (stmt line 1: x + y)" in capsys.readouterr().out
    assert 1 == notebook.started
    assert not notebook.engine.closed.is_set()

    assert notebook.run("%icount --allocator system x")
    assert 2 == notebook.started

    instruction_counts.unload_ipython_extension(notebook.shell)
    assert notebook.engine.closed.is_set()


def test_an_interrupt_leaves_a_notebook_that_counts(
    notebook: Notebook, capsys: pytest.CaptureFixture[str]
) -> None:
    """The cell ends in one line, and the next count starts new servers."""
    assert not notebook.run("%icount slow")
    captured = capsys.readouterr()
    assert "Interrupted." in captured.out + captured.err
    assert "Traceback" not in captured.out + captured.err
    assert notebook.engine.closed.is_set()

    assert notebook.run("%icount x")
    assert 2 == notebook.started


def test_what_was_measured_is_returned_if_asked_for(notebook: Notebook) -> None:
    """Its representation is short."""
    assert notebook.run("%icount x")
    assert notebook.shell.user_ns.get("_") in {None, ""}
    assert notebook.run("found = %icount -o x")

    found = notebook.shell.user_ns["found"]
    assert isinstance(found, Result)
    assert 8899 == found.instructions
    assert repr(found).startswith("<x · Python · Eager · Forward: 8,899 instructions")


# What stands after the magic


@pytest.mark.parametrize(
    ("line", "words", "code"),
    [
        ("x + y", [], "x + y"),
        ("  \"a\" + 'b'  ", [], "\"a\" + 'b'  "),
        ("--num-threads 3 x - y", ["--num-threads", "3"], "x - y"),
        ("-sx=1 --language c++ x;", ["-sx=1", "--language", "c++"], "x;"),
        ("--setup 'a = \"b\"' a", ["--setup", 'a = "b"'], "a"),
        ("--setup=a=1 a", ["--setup=a=1"], "a"),
        ("-s 'x = 1' -o x # y", ["-s", "x = 1", "-o"], "x # y"),
        ("--language c++ -- -x", ["--language", "c++"], "-x"),
        ("--backward", ["--backward"], ""),
    ],
)
def test_code_begins_after_the_options(line: str, words: list[str], code: str) -> None:
    """Its quotes and spaces stay as they are."""
    assert (words, code) == split(line)


def test_options_are_those_of_time(capsys: pytest.CaptureFixture[str]) -> None:
    """Of a cell the first line is setup, as for %%timeit, and the cell one statement.

    Help is printed, and asks for nothing.
    """
    line = parse("-o --no-times --num-threads 2 --backward -s 'x = 1' x.sum()", None)
    cell = parse("-s 'x = 1' y = x", "z = y\nz + 1\n")

    assert line is not None
    assert cell is not None
    assert (True, False) == (line.returned, line.measuring.times)
    assert Statements(("x.sum()",), setup="x = 1", num_threads=(2,), autograd=True) == line.asked
    assert Statements(("z = y\nz + 1",), setup="x = 1\ny = x") == cell.asked
    assert parse("--help", None) is None
    assert "--num-threads" in capsys.readouterr().out


# The page


PAGE = Path(__file__).resolve().parents[2] / "docs" / "how-to" / "notebooks.md"
MY_MODEL = """\
import torch

class Gate(torch.nn.Module):
    def __init__(self, size):
        super().__init__()
        self.linear = torch.nn.Linear(size, size)

    def forward(self, x):
        return torch.sigmoid(self.linear(x)) * x
"""
_BLOCK = re.compile(r"^```text\n(In \[.*?)^```$", re.MULTILINE | re.DOTALL)


def cells_of(page: Path) -> list[str]:
    """The inputs that a page shows, as they are typed."""
    shown = "\n\n".join(_BLOCK.findall(page.read_text(encoding="utf-8")))
    found = re.findall(r"^In \[\d+\]: (.*(?:\n +\.\.\.: .*)*)", shown, re.MULTILINE)
    return [re.sub(r"\n +\.\.\.: ", "\n", cell) for cell in found]


@pytest.mark.slow
@NEEDS_VALGRIND
@pytest.mark.thorough
def test_the_notebook_of_the_docs(
    shell: InteractiveShell,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """All its cells, for real, beside their module; a statement costs the same each time."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    Path("my_model.py").write_text(MY_MODEL, encoding="utf-8")
    variables = {"PYTHONPATH": str(tmp_path)}
    builds = [{"name": "here", "python": sys.executable, "env": variables}]
    Path("builds.yaml").write_text(json.dumps({"builds": builds}), encoding="utf-8")
    said = []
    cells = cells_of(PAGE)
    for cell in [*cells, *(cell for cell in cells if cell.endswith(" x + y"))]:
        ran = shell.run_cell(cell)
        captured = capsys.readouterr()
        said.append((cell, bool(ran.success), captured.out + captured.err))
    assert "%load_ext instruction_counts" == cells[0]

    refused = [(cell, text) for cell, success, text in said if not success]
    assert ["%icount next(held)"] == [cell for cell, _ in refused]
    assert '"held" (builtins.generator) cannot be passed on: ' in refused[0][1]

    counts = [
        found[1]
        for cell, _, text in said
        if cell.startswith("%icount") and cell.endswith(" x + y")
        for found in [re.search(r"^x \+ y +([\d,]+)", text, re.MULTILINE)]
        if found
    ]
    assert len(counts) > 1
    assert {counts[0]} == set(counts)
