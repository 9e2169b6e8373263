"""What a specification says beside its cases, and what the command line says instead."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from instruction_counts.cli.measuring import Asked, compare_options
from instruction_counts.cli.stored_run import result_files
from instruction_counts.domain.build import default_build
from instruction_counts.domain.effects import Effect
from instruction_counts.domain.selection import Selection
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.session.comparing import ComparisonRequest
from instruction_counts.sources.definitions import STANDARD
from instruction_counts.sources.specification.expansion import read_specification
from instruction_counts.storage.json_files import read_json
from instruction_counts.storage.store import Store
from tests.cli.program import Program, given
from tests.storage.values import loaded

SPECIFICATION = f"""\
version: 1
name: a b
builds: [{{name: stated, python: {sys.executable}}}]
timeout: 7
benchmarks:
  - id: add
    label: "Add/{{shape}}"
    inputs: {{x: {{shape: [[2], [3]]}}}}
    statement: y = x + {{x.shape[0]}}
    expected: {{y: {{shape: ["{{x.shape[0]}}"]}}}}
reporters:
  - directory: results
  - database: stated.db
"""


@pytest.fixture
def specification(tmp_path: Path) -> Path:
    """A specification in a file."""
    path = tmp_path / "spec.yaml"
    path.write_text(SPECIFICATION, encoding="utf-8")
    return path


def asked(*args: str) -> Asked:
    """What a command gets that compares builds."""
    # The specification wins over the environment, which knows nothing of it.
    found: Asked = given(compare_options, *args, INSTRUCTION_COUNTS_DB="environment.db")
    return found


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], ["stated", 7.0, "stated.db"]),
        (
            ["--build", f"given={sys.executable}", "--timeout", "600", "--db", "given.db"],
            ["given", 600.0, "given.db"],
        ),
    ],
    ids=["nothing", "all"],
)
def test_a_specification_says_what_the_command_line_does_not(
    args: list[str], expected: list[Any], specification: Path
) -> None:
    """Builds, limit and database of a command that is given both."""
    found = asked("--definitions", str(specification), *args)

    assert expected == [
        *(build.name for build in found.builds),
        found.how.settings.timeout_s,
        Path(str(found.db)).name,
    ]


def test_options_say_what_is_compared_and_how() -> None:
    """All of them arrive. Without any it is the standard suite on this interpreter."""
    options = ("--min-effect=60%", "--layouts=0", "--time-budget=1m", "--jobs=2", "--no-times")
    selection = ("--only=a/*", "--language=c++", "--autograd=forward", "--num-threads=2")

    assert Asked(ComparisonRequest(STANDARD), (default_build(),), None) == asked()
    assert asked(*options, *selection, "--definitions=cases").how == ComparisonRequest(
        *("cases", Selection(("a/*",), ("C++",), (), ("Forward",), (2,))),
        MeasurementSettings(jobs=2, times=False),
        *(Effect(0.6), 0, 60.0),
        defined_only=True,
    )


def test_a_run_goes_into_a_file_of_its_own(specification: Path) -> None:
    """Named after the specification."""
    stated = read_specification(specification)
    first, second = (result_files(stated) for _ in range(2))

    assert first != second
    assert {specification.parent / "results"} == {file.parent for file in (*first, *second)}
    form = r"a-b-\d{8}T\d{6}Z-[0-9a-f]{4}\.json"
    assert all(re.fullmatch(form, file.name) for file in (*first, *second))


def test_mistakes_end_a_command_with_their_places(specification: Path, program: Program) -> None:
    """Without a traceback; what is right is listed and shown as any other definitions."""
    assert "Add/2\n" in program.output("list", "--definitions", str(specification))
    assert "Add / 2 · " in program.output("show", "Add/2", "--definitions", str(specification))
    specification.write_text(SPECIFICATION.replace("statement:", "statment:"), encoding="utf-8")
    said = program.error("list", "--definitions", str(specification))

    assert f"{specification}:9:15: $.benchmarks[0].statment" in said
    assert "did you mean statement?" in said


@pytest.mark.slow
def test_a_specification_is_run_and_compared(specification: Path, program: Program) -> None:
    """Two shapes and a placeholder, through the file and the database that it names."""
    arguments = ["--definitions", specification]
    assert 0 == program("run", *arguments, "--no-times", "--jobs", "1").code
    with Store(specification.parent / "stated.db") as store:
        run = loaded(store, 1)
    (file,) = (specification.parent / "results").iterdir()
    program.output("compare", file, "1", *arguments, "--output", f"{specification}.json")
    compared = json.loads(Path(f"{specification}.json").read_text())

    assert run == read_json(file)
    assert {"same": 2} == compared["tally"]
    assert [("Add", "2"), ("Add", "3")] == [record.label for record in run.cases]


@pytest.mark.slow
@pytest.mark.thorough
def test_what_the_example_expects_is_computed(tmp_path: Path, program: Program) -> None:
    """In Python, forward."""
    chosen = ["--language", "python", "--runtime", "eager", "--autograd", "forward", "--no-times"]
    example = ["--definitions", "examples/linear.yaml", "--db", tmp_path / "runs.db"]

    assert 0 == program("run", *example, *chosen).code
