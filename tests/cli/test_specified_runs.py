"""What a specification says beside its cases, and what the command line says instead."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import click
import pytest
from click.testing import CliRunner

from instruction_counts.cli.measuring import measuring_options
from instruction_counts.cli.merging import merged
from instruction_counts.cli.options import build_options, selection_options, store_option
from instruction_counts.cli.reporting import Reporting
from instruction_counts.domain.build import default_build
from instruction_counts.domain.errors import UsageError
from instruction_counts.session.builds import MeasurementSettings
from instruction_counts.sources.definitions import STANDARD
from instruction_counts.sources.specification.reading import read_specification
from instruction_counts.storage.json_files import from_json, read_json
from instruction_counts.storage.store import Store
from tests.cli.program import Program
from tests.fakes import make_record, make_run
from tests.history.test_webhook import Receiver, receiver

__all__ = ["receiver"]

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


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        # It wins over the environment, which knows nothing of it.
        ([], ["stated", 7.0, "stated.db"]),
        # The command line wins, option by option.
        (["--timeout", "600"], ["stated", 600.0, "stated.db"]),
        (
            ["--build", f"given={sys.executable}", "--timeout", "600", "--db", "given.db"],
            ["given", 600.0, "given.db"],
        ),
    ],
    ids=["nothing", "one", "all"],
)
def test_a_specification_says_what_the_command_line_does_not(
    args: list[str], expected: list[Any], specification: Path
) -> None:
    """Builds, limit and database of a command that is given both."""
    got: list[Any] = []

    @click.command()
    @selection_options
    @build_options
    @measuring_options
    @store_option
    def command(
        definitions: Any, builds: Any, measuring: MeasurementSettings, db: str | None, **_: Any
    ) -> None:
        asked = merged(definitions, builds, measuring, db)
        got.extend([*(build.name for build in asked.builds), asked.measuring.timeout_s])
        got.append(Path(str(asked.db)).name)

    CliRunner(env={"INSTRUCTION_COUNTS_DB": "environment.db"}).invoke(
        command, ["--definitions", str(specification), *args], catch_exceptions=False
    )

    assert expected == got


def test_without_a_specification_there_are_defaults() -> None:
    """The standard suite on this interpreter."""
    expected = (STANDARD, (default_build(),), MeasurementSettings(), None)

    assert expected == merged(None)


def test_a_run_goes_into_a_file_of_its_own(specification: Path) -> None:
    """Named after the specification."""
    stated = read_specification(specification)
    first, second = (Reporting.of(stated) for _ in range(2))

    assert first.screen is False
    assert first.files != second.files
    assert {"a-b"} == {file.name.rpartition("-20")[0] for file in (*first.files, *second.files)}


def with_endpoint(specification: Path, url: str) -> Reporting:
    """Reporting to ``url``, with a token."""
    text = SPECIFICATION + f'  - http: {{url: "{url}", token_env: INSTRUCTION_COUNTS_TOKEN_TEST}}\n'
    specification.write_text(text, encoding="utf-8")
    stated = read_specification(specification)
    return Reporting.of(stated, {"INSTRUCTION_COUNTS_TOKEN_TEST": "secret"})


def test_a_run_is_sent_with_the_token(
    specification: Path, receiver: Receiver, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As the JSON that is written to files, with the details that are in the store alone.

    Messages name the host, and not what follows it: a key may be in it.
    """
    run = make_run(make_record("a"))
    with Store.open(str(tmp_path / "runs.db")) as store:
        kept = store.load(store.import_run(run), details=False)
        reporting = with_endpoint(specification, f"{receiver.url}/key?id=key")
        done = reporting.send(kept, store.completed)
    headers, body = receiver.got[0]
    said = capsys.readouterr()

    assert done is True
    assert "Bearer secret" == headers["Authorization"]
    assert run == from_json(body, "body")
    assert f"Sent to 127.0.0.1:{receiver.server_port}\n" == said.out
    assert "key" not in said.err


def test_a_refusal_is_reported_with_the_name_of_the_token(
    specification: Path, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    """And never with the token."""
    receiver.answers = [403]
    done = with_endpoint(specification, receiver.url).send(make_run(make_record("a")))
    said = capsys.readouterr().err

    assert done is False
    assert "rejected results: HTTP 403" in said
    assert "INSTRUCTION_COUNTS_TOKEN_TEST" in said
    assert "secret" not in said


def test_a_run_that_was_interrupted_is_not_sent(
    specification: Path, receiver: Receiver, capsys: pytest.CaptureFixture[str]
) -> None:
    """And this is said."""
    reporting = with_endpoint(specification, receiver.url)
    reporting.send(make_run(make_record("a")), interrupted=True)
    said = capsys.readouterr().err

    assert [] == receiver.got
    assert "the run was interrupted" in said


def test_a_token_that_is_missing_is_reported_without_the_url(specification: Path) -> None:
    """But for its host; before anything is measured, with what to do."""
    with_endpoint(specification, "https://example.org/key")
    message = r"(?s)token for example\.org is not in the .*Set INSTRUCTION_COUNTS_TOKEN_TEST"

    with pytest.raises(UsageError, match=message):
        Reporting.of(read_specification(specification), {})


@pytest.mark.parametrize("command", ["list", "show"])
def test_commands_that_run_nothing_take_a_specification(
    specification: Path, command: str, program: Program
) -> None:
    """As any other definitions."""
    label = ["Add/2"] if command == "show" else []

    assert "Add / 2" in program.output(command, *label, "--definitions", str(specification))


def test_mistakes_end_a_command_with_their_places(specification: Path, program: Program) -> None:
    """Without a traceback."""
    specification.write_text(SPECIFICATION.replace("statement:", "statment:"), encoding="utf-8")
    said = program.error("list", "--definitions", str(specification))

    assert f"{specification}:9:15: $.benchmarks[0].statment" in said
    assert "did you mean statement?" in said


@pytest.mark.slow
@pytest.mark.usefixtures("kept_engines")
def test_a_specification_is_run_and_compared(specification: Path, program: Program) -> None:
    """Two shapes and a placeholder, through the file and the database that it names."""
    arguments = ["--definitions", specification]
    assert 0 == program("run", *arguments, "--no-times", "--jobs", "1").code
    with Store.open(specification.parent / "stated.db") as store:
        run = store.load(1)
    (file,) = (specification.parent / "results").iterdir()
    program.output("compare", file, "1", *arguments, "--output", f"{specification}.json")
    compared = json.loads(Path(f"{specification}.json").read_text())

    assert run == read_json(file)
    assert {"same": 2} == compared["tally"]
    assert [("Add", "2"), ("Add", "3")] == [record.label for record in run.cases]


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.usefixtures("kept_engines")
def test_the_example_is_run_twice_and_compared(tmp_path: Path, program: Program) -> None:
    """What it expects is computed."""
    common = ["--definitions", "examples/linear.yaml", "--db", tmp_path / "runs.db"]
    chosen = ["--language", "python", "--runtime", "eager", "--autograd", "forward", "--no-times"]
    codes = [program("run", *common, *chosen).code for _ in range(2)]

    assert [0, 0] == codes
    assert "5 cases: 5 same" in program.output("compare", "1", "2", *common)
