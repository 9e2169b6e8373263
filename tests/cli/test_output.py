"""Where reports go: files in the form that each asks for, written whole, and standard output."""

import gzip
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from instruction_counts.cli.output import Destination, Outputs, output_options
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import Details
from instruction_counts.report.document import Cell, Column, Document, Row, Table
from instruction_counts.storage.json_files import read_json
from tests.cli.program import Program
from tests.fakes import FakeClock, exporter_to, make_record, make_run

TABLE = Table("cases", "", (Column("case", "case"),), (Row((Cell("\ud800"),)), Row((Cell("é"),))))
DOCUMENT = Document("x", sections=(TABLE,), data={"a": 1}, tests=())


@click.command()
@output_options("tests")
def toy(outputs: Outputs) -> None:
    """Show the document."""
    outputs.write(DOCUMENT)
    outputs.say("done")


def said(*args: str) -> tuple[str, str]:
    """What goes to standard output and to standard error."""
    found = CliRunner().invoke(toy, args, catch_exceptions=False)
    return found.stdout, found.stderr


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        ([], ("case\n\\ud800\né\ndone\n", "")),
        (["--format", "json"], ('{\n "a": 1\n}\n', "done\n")),
        (["--output", "-", "--format", "json"], ('{\n "a": 1\n}\n', "done\n")),
    ],
)
def test_where_a_program_reads_the_document_all_else_goes_to_standard_error(
    args: list[str], expected: tuple[str, str]
) -> None:
    """Without options, the screen shows both."""
    assert expected == said(*args)


def test_a_document_on_standard_output_is_that_of_a_file() -> None:
    """In UTF-8, as a page says of itself, whatever the locale is."""
    found = CliRunner(charset="ascii").invoke(toy, ["--format", "csv"], catch_exceptions=False)

    assert "case\n\\ud800\né\n".encode() == found.stdout_bytes


@pytest.mark.parametrize("named", ["a.json", "./a.json:new"])
def test_a_file_that_is_read_is_not_written_to(named: str, here: Path) -> None:
    """The run in it would be gone."""
    outputs = Outputs((Destination.of(here / "a.json"), Destination.of(Path("-"))))
    outputs.refuse_over(["b.json", "12"])
    with pytest.raises(UsageError, match="is a file that is read"):
        outputs.refuse_over(["b.json", named])


BENCHMARK = '{"id": "add", "label": "add", "statement": "1 + 1"}'
SPECIFICATION = f'{{"version": 1, "name": "a", "benchmarks": [{BENCHMARK}]}}'


@pytest.mark.parametrize(
    ("args", "content"),
    [
        (["runs", "merge", "a.json", "b.json"], ""),
        (["run", "--definitions", "b.json"], SPECIFICATION),
        (["compare", "a.json", "b.json:new"], ""),
        (["baseline", "check", "a.json", "c.json", "--gate", "b.json"], "{}"),
    ],
    ids=["shards", "a specification", "a run", "limits"],
)
def test_no_command_writes_to_a_file_that_it_reads(
    args: list[str], content: str, here: Path, program: Program
) -> None:
    """Whichever of its parameters names it; nothing is measured before that."""
    for name in "ab":
        (here / f"{name}.json").write_text(content)

    assert "is a file that is read" in program.error(*args, "--output", "b.json")
    assert content == (here / "b.json").read_text()


def test_a_file_is_written_beside_the_screen(tmp_path: Path) -> None:
    """In the form of its suffix, or of --format where that says nothing; compressed by .gz."""
    names = ["r.json", "r.csv.gz", "r.xml", "r.out"]
    files = [part for name in names for part in ("--output", str(tmp_path / name))]
    stdout, _ = said(*files, "--format", "json")

    assert [f"Saved: {tmp_path / name}" for name in names] == stdout.splitlines()[-5:-1]
    assert '{\n "a": 1\n}\n' == (tmp_path / "r.json").read_text()
    assert "case\n\\ud800\né\n".encode() == gzip.decompress((tmp_path / "r.csv.gz").read_bytes())
    assert (tmp_path / "r.xml").read_text().startswith("<?xml")
    assert (tmp_path / "r.out").read_text() == (tmp_path / "r.json").read_text()


@pytest.mark.parametrize(
    ("path", "problem"),
    [
        (
            "r",
            "--output {}/r: unknown format\n  End the name in .txt, .md, .html, .json, .csv, .xml.",
        ),
        ("absent/r.json", "--output {}/absent/r.json: there is no folder {}/absent"),
        ("link.json", "--output {}/link.json: there is no folder {}/gone"),
        ("/proc/r.json", r"--output /proc/r\.json cannot be written: "),
    ],
)
def test_what_cannot_be_written_is_refused_at_once(tmp_path: Path, path: str, problem: str) -> None:
    """Before anything is measured."""
    (tmp_path / "link.json").symlink_to("gone/r.json")
    with pytest.raises(UsageError, match=problem.replace("{}", str(tmp_path))):
        Destination.of(tmp_path / path, having=("tests",))


# Runs that grow


@pytest.mark.parametrize(("name", "expected"), [("r.json", 1), ("r.csv", 0)])
def test_details_are_read_for_json_alone(tmp_path: Path, name: str, expected: int) -> None:
    """Summaries of thousands of cases would read GBs for nothing."""
    asked: list[Details] = []

    def details() -> Details:
        asked.append(Details())
        return asked[-1]

    run = make_run(make_record().without_details(details))
    exporter_to(tmp_path / name).update(run, final=True)

    assert expected == len(asked)


def test_a_file_is_not_rewritten_all_the_time(tmp_path: Path) -> None:
    """The first state is written at once; after a write of a second comes a pause of twenty."""
    growing = exporter_to(tmp_path / "r.json", FakeClock(1))
    records = [make_record(str(number)) for number in range(30)]
    written = []
    for count in range(30):
        growing.update(make_run(*records[:count]))
        written.append(len(read_json(tmp_path / "r.json").cases))
    growing.update(make_run(*records), final=True)

    assert [0, 20] == list(dict.fromkeys(written))
    assert 30 == len(read_json(tmp_path / "r.json").cases)
