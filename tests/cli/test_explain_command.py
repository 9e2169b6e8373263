"""``explain``, called as the console script calls it, on files and stored runs."""

import json
import sys
from pathlib import Path
from typing import TypeAlias

import attrs
import pytest

from instruction_counts.core.types import Language, RuntimeMode
from instruction_counts.domain.executed import Executed, PythonFunction
from instruction_counts.domain.outcomes import Outcome, Status
from instruction_counts.domain.records import Record
from tests.builders import costs_of, counted, file_of
from tests.cli.program import Program
from tests.fakes import failed, make_record, make_run
from worker.executed import digest

COMMAND = ("explain",)
CALL, ADD_KERNEL = "at::_ops::add_Tensor::call(at::Tensor const&)", "at::native::add(at::Tensor)"
Files: TypeAlias = tuple[str, str]


def added(kernel: int, runs: int = 10) -> Outcome:
    """An outcome of 70 instructions in the dispatcher, and so many in a kernel."""
    call = CALL, ADD_KERNEL, runs, kernel * runs
    spent = {ADD_KERNEL: kernel * runs, CALL: 70 * runs}
    return counted(kernel + 70, functions=costs_of(spent, [call], runs=runs))


def records(kernel: int) -> list[Record]:
    """A run with cases of several kinds."""
    return [
        make_record("Pointwise", "add", outcome=added(kernel)),
        make_record("Pointwise", "add", language=Language.CPP, outcome=added(1)),
        make_record("Pointwise", "add", runtime=RuntimeMode.JIT, outcome=added(2, 5)),
        make_record("Pointwise", "mul", outcome=failed()),
        make_record("Training", "uncounted", outcome=Outcome(Status.OK)),
        make_record("Training", f"only {kernel}", outcome=added(1)),
    ]


@pytest.fixture
def files(tmp_path: Path) -> tuple[str, str]:
    """Two runs in files; the kernel of ``add`` got dearer by 123."""
    base, new = (make_run(*records(kernel)) for kernel in (1000, 1123))
    return file_of(base, tmp_path / "base.json"), file_of(new, tmp_path / "new.json")


ADD = ["Pointwise/add", "--language", "python", "--runtime", "eager"]


def test_the_explanation_is_written_in_every_form(
    files: Files, tmp_path: Path, program: Program
) -> None:
    """All at once, and each is named; a flame graph has its own suffix."""
    paths = [tmp_path / name for name in ("e.json", "e.md", "e.speedscope.json")]
    database = tmp_path / "runs.db"
    outputs = (f"--output={path}" for path in paths)
    out = program.output(*files, *ADD, *outputs, "--db", database)
    texts = [path.read_text() for path in paths]

    assert [f"Saved: {path}" for path in paths] == out.splitlines()[-3:]
    assert 123 == json.loads(texts[0])["change"]
    assert "| kernels | 1,000 | 1,123 | +123 |" in texts[1]
    assert [1070, 1193] == [sum(profile["weights"]) for profile in json.loads(texts[2])["profiles"]]
    assert not database.exists()  # none is needed for files


def test_the_source_of_changed_functions_is_shown(tmp_path: Path, program: Program) -> None:
    """Of what is still there: here, of new alone."""
    text = "def forward():\n    return 2\n"
    (tmp_path / "linear.py").write_text(text, encoding="utf-8")
    forward = compile(text, "linear.py", "exec").co_consts[0]
    python = ".".join(map(str, sys.version_info[:2]))
    paths = []
    for name, code, folder in (("base", "old", "/nowhere"), ("new", digest(forward), tmp_path)):
        executed = Executed((PythonFunction("linear.py", 1, "forward", code, 7),), (), python)
        record = make_record("add", outcome=attrs.evolve(added(1), executed=executed))
        run = attrs.evolve(make_run(record), package_folders={"default": str(folder)})
        paths.append(file_of(run, tmp_path / f"{name}.json"))
    out = program.output(*paths, "add", "--by", "source", "--by", "python")
    lines = [line.rstrip() for line in out.splitlines()]

    assert ["linear.py:1", "forward", "7", "7", "0", "edited"] in [line.split() for line in lines]
    assert "  base: /nowhere/linear.py is not there, and no import" in out
    assert "       2     return 2" in lines


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["Pointwise/add"], "3 cases match 'Pointwise/add':\n  Pointwise / add · Python · Eager"),
        (["nothing like it"], "LABEL is a glob"),
        (["Pointwise/add", "--num-threads", "7"], "modes in base.json or new.json; it has\n"),
        (["Pointwise/mul"], "has no count in base.json: failed: ValueError: bad"),
        (["Training/uncounted"], "was not counted in base.json"),
        (["Training/only 1000"], "is in base.json, and not in new.json"),
        ([*ADD, "--by", "cycles"], "has no estimated cycles in base.json and new.json\n  Measure"),
        ([*ADD, "--by", "cuda"], "has no calls of CUDA in base.json and new.json\n  Choose"),
        ([*ADD, "--by", "python"], "has no Python functions in base.json and new.json\n  Choose"),
    ],
)
def test_an_error_in_use_exits_with_1(
    args: list[str], expected: str, files: Files, program: Program
) -> None:
    """With what to do instead, and no traceback."""
    assert expected in program.error(*files, *args)


def test_one_side_shows_where_its_instructions_go(
    files: Files, tmp_path: Path, program: Program
) -> None:
    """On the screen, or as JSON; what needs another side is refused."""
    path = tmp_path / "one.json"
    shown = program.output(files[0], *ADD, "--output", path)
    found = json.loads(path.read_text())

    assert "sum 1,070 100.0%" in " ".join(shown.split())
    assert (None, 1070) == (found["base"], found["new"]["instructions"])
    assert "needs two builds" in program.error(files[0], *ADD, "--by", "source")
