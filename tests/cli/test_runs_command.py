"""``runs``, called as the console script calls it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import pty
import subprocess
from pathlib import Path

import attrs
import pytest

from instruction_counts.cli import console
from instruction_counts.core.types import Language
from instruction_counts.domain.records import Run
from instruction_counts.report import operators
from instruction_counts.report.run import run_document
from instruction_counts.storage.json_files import read_json, to_json
from instruction_counts.storage.store import Store
from tests.analysis.made_operators import RUN as OPERATORS
from tests.cli.program import Answer, Program
from tests.fakes import FINGERPRINT, exporter_to, failed, make_record, make_run
from tests.process import MAIN

COMMAND = ("runs",)
FIRST = attrs.evolve(
    make_run(make_record("Top", "add"), make_record("Top", "bad", outcome=failed())),
    started_at="2026-01-02T03:04:05+00:00",
)
SECOND = attrs.evolve(
    make_run(make_record("Top", "add", language=Language.CPP, build="new")),
    builds={"base": FINGERPRINT, "new": attrs.evolve(FINGERPRINT, torch="2.14.0")},
    started_at="2026-02-03T04:05:06+00:00",
)


@pytest.fixture(autouse=True)
def db(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A database with two runs, the first of which has a tag; the environment names it."""
    path = tmp_path / "runs.db"
    store_in(path, FIRST, SECOND)
    with Store.open(path) as store:
        store.tag(1, "baseline")
    monkeypatch.setenv("INSTRUCTION_COUNTS_DB", str(path))
    monkeypatch.setenv("COLUMNS", "80")
    return path


def store_in(db: Path, *runs: Run) -> None:
    """Store runs in a database."""
    with Store.open(db) as store:
        for run in runs:
            store.import_run(run)


def stored(db: Path) -> dict[int, Run]:
    """What a database holds."""
    with Store.open(db) as store:
        return {run.id: store.load(run.id) for run in reversed(store.summaries())}


# list


def test_runs_are_listed_newest_first(program: Program) -> None:
    """At 80 columns, where texts give way; for programs, the same."""
    lines = [" ".join(line.split()) for line in program.output("list").splitlines()]

    assert [
        "run started (UTC) torch cases failed state tags",
        "2 2026-02-03 04:05 base 2.13.0+cpu, new 1 0 complete",
        "2.14.0",
        "1 2026-01-02 03:04 2.13.0+cpu 2 1 complete baseline",
    ] == lines
    assert {
        "id": 1,
        "started_at": "2026-01-02T03:04:05+00:00",
        "state": "complete",
        "engine": "timer",
        "builds": {"default": "2.13.0+cpu"},
        "tags": ["baseline"],
        "cases": 2,
        "failed": 1,
        "changed_files": {},
    } == json.loads(program.output("list", "--format", "json"))[1]


def test_a_database_without_runs_says_so(program: Program, tmp_path: Path) -> None:
    """And where it is; as JSON it is an empty list."""
    path = tmp_path / "new.db"
    Store.open(path).close()
    answer = program("list", "--db", path)

    assert (0, "") == (answer.code, answer.out)
    assert f"{path} contains no runs" in answer.err
    assert Answer(0, "[]\n", "") == program("list", "--db", path, "--format", "json")


def test_a_long_list_of_builds_is_folded(program: Program, db: Path) -> None:
    """The table stays readable in a pipe."""
    builds = {f"build-{number}": FINGERPRINT for number in range(9)}
    store_in(db, attrs.evolve(make_run(), builds=builds))
    out = program.output("list")

    assert max(map(len, out.splitlines())) <= 80
    assert all(name in out for name in builds)


def test_what_cannot_be_printed_is_escaped(program: Program, db: Path) -> None:
    """A file that was imported can hold anything; a line break makes no line."""
    odd = "\x1b[31m\ud800\n"
    print_ = attrs.evolve(FINGERPRINT, torch=odd, cpu=odd)
    record = attrs.evolve(make_record(), label=("Top", odd), build=odd)
    store_in(db, Run(odd, odd, {odd: print_}, (record,), odd))

    for command in (["list"], ["show", "3"]):
        out = program.output(*command)
        assert "\\x1b[31m?\\n" in out
        assert "\x1b" not in out
        assert not any(line.endswith("?") for line in out.splitlines())
    deleted = program("delete", "3", "--force").err
    assert "Deleted: run 3 (1 case, \\x1b[31m?\\n)\n" == deleted


# show


@pytest.mark.parametrize("name", ["1", "baseline", "last"])
def test_a_run_is_shown_by_number_by_tag_and_as_the_last(
    name: str, program: Program, db: Path
) -> None:
    """Its head, its builds, its results, and what failed."""
    with Store.open(db) as store:
        store.delete(2)
    lines = program.output("show", name).splitlines()

    assert [
        "run 1 · complete · started 2026-01-02 03:04 UTC · engine timer ·",
        "instruction-counts 0.1.0",
        "tags: baseline",
        "torch 2.13.0+cpu · Python 3.11.7 · A Processor · valgrind-3.19.0",
        "failed  Top / bad · Python: ValueError: bad   (stmt line 1: x + y)",
        "2 cases: 1 ok · 1 failed",
    ] == [*lines[:4], *lines[-2:]]
    assert any("8,899" in line for line in lines)


def test_a_file_is_shown_and_converted_without_a_database(program: Program, tmp_path: Path) -> None:
    """As the run that was stored."""
    program.output("show", "1", "--output", tmp_path / "x.json")
    shown = program.output("show", tmp_path / "x.json", "--db", "/nowhere/runs.db")
    program.output("show", tmp_path / "x.json", "--output", tmp_path / "x.md")

    assert shown.splitlines()[-4:] == program.output("show", "1").splitlines()[-4:]
    assert (tmp_path / "x.md").read_text().startswith("**torch 2.13.0+cpu")


def test_operators_are_shown_as_when_they_were_measured(
    program: Program, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forward and backward apart, with what the machine can do."""
    store_in(db, OPERATORS)
    console.show(run_document(OPERATORS))
    measured = capsys.readouterr().out.partition("\n\n")[2]

    assert measured == program.output("show", "3").partition("\n\n")[2]
    assert operators.machine_line(OPERATORS.machine) in measured


def test_a_run_is_shown_to_programs_as_its_file(program: Program) -> None:
    """That of `run --output`, on standard output alone."""
    assert Answer(0, to_json(FIRST), "") == program("show", "1", "--format", "json")


def test_an_empty_run_is_shown(program: Program, db: Path) -> None:
    """One that was interrupted early."""
    with Store.open(db) as store:
        store.finish(store.begin(make_run()), make_run(), interrupted=True)
    lines = program.output("show", "3").splitlines()

    assert lines[0].startswith("run 3 · interrupted · engine timer")
    assert "No case was measured." == lines[-1]


@pytest.mark.parametrize(
    "command",
    [
        ["show", "basline"],
        ["delete", "basline", "--force"],
        ["tag", "basline", "new"],
        ["untag", "basline"],
    ],
    ids=lambda command: command[0],
)
def test_an_unknown_run_is_an_error(program: Program, command: list[str]) -> None:
    """In every command."""
    said = program.error(*command)

    assert '"basline"' in said
    assert said.endswith("runs list\n")


# export and import


def test_a_run_is_exported_in_every_form(program: Program, tmp_path: Path) -> None:
    """By the end of the name; JSON is the file of `run --output`."""
    files = [tmp_path / name for name in ("x.json", "x.json.gz", "x.csv", "x.md")]
    out = program.output("show", "baseline", *(f"--output={file}" for file in files))

    assert [f"Saved: {file}" for file in files] == out.splitlines()[-4:]
    assert to_json(FIRST) == files[0].read_text()
    assert to_json(FIRST) == gzip.decompress(files[1].read_bytes()).decode()
    assert 2 == len(list(csv.DictReader(io.StringIO(files[2].read_text()))))
    assert files[3].read_text().startswith("**run 1 · complete")


def test_imported_runs_get_numbers(program: Program, tmp_path: Path, db: Path) -> None:
    """One a line, in the order of the files; nothing is lost."""
    for number, name in ((1, "a.json"), (2, "b.json.gz")):
        program.output("show", str(number), "--output", tmp_path / name)

    assert "3\n4\n" == program.output("import", tmp_path / "b.json.gz", tmp_path / "a.json")
    assert {1: FIRST, 2: SECOND, 3: SECOND, 4: FIRST} == stored(db)
    assert SECOND == read_json(tmp_path / "b.json.gz")


def test_an_import_makes_the_database(program: Program, tmp_path: Path) -> None:
    """It may be the first that is stored."""
    exporter_to(tmp_path / "a.json").update(FIRST, final=True)

    assert "1\n" == program.output("import", tmp_path / "a.json", "--db", tmp_path / "new.db")
    assert {1: FIRST} == stored(tmp_path / "new.db")


def test_a_file_that_cannot_be_read_stops_an_import_before_it_begins(
    program: Program, tmp_path: Path, db: Path
) -> None:
    """No part of it has to be taken back."""
    exporter_to(tmp_path / "a.json").update(FIRST, final=True)
    (tmp_path / "b.json").write_text("{")
    program.error("import", tmp_path / "a.json", tmp_path / "b.json")

    assert 2 == len(stored(db))


# delete


def test_runs_are_deleted_without_a_question_on_demand(program: Program, db: Path) -> None:
    """Each once, however often and by whatever name it is named; none where one is wrong."""
    program.error("delete", "1", "7", "--force")
    assert 2 == len(stored(db))
    answer = program("delete", "1", "baseline", "--force")

    assert Answer(0, "", "Deleted: run 1 (2 cases, 2026-01-02 03:04, baseline)\n") == answer
    assert {2: SECOND} == stored(db)


@pytest.mark.parametrize(
    ("answer", "code", "said", "left"),
    [
        ("y\n", 0, "Deleted: run 1", [2]),
        ("n\n", 0, "Nothing was deleted.", [1, 2]),
        # In a script it has to be meant.
        (None, 1, "\n  Add --force.\n", [1, 2]),
    ],
)
def test_deleting_asks(answer: str | None, code: int, said: str, left: list[int], db: Path) -> None:
    """And names what would go; where nobody can be asked, it refuses."""
    terminal, end = pty.openpty()
    with subprocess.Popen(
        [*MAIN, "runs", "delete", "1"],
        stdin=subprocess.DEVNULL if answer is None else end,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        os.write(terminal, (answer or "").encode())
        _, err = process.communicate(timeout=600)
    os.close(terminal)
    os.close(end)

    question = "run 1 (2 cases, 2026-01-02 03:04, baseline)\nDelete for good? [y/N]: "
    assert code == process.returncode
    assert (answer is not None) is (question in err)
    assert said in err
    assert left == sorted(stored(db))


# tag and untag


def test_a_run_gets_and_loses_a_tag(program: Program) -> None:
    """With it the run can be named; one that another run has is moved by force alone."""
    assert "Run 2 has the tag new\n" == program("tag", "last", "new").err
    assert program.output("show", "new").startswith("run 2")
    assert "No run has the tag new any more\n" == program("untag", "new").err
    program.error("show", "new")

    refused = program.error("tag", "2", "baseline")
    assert 'run 1 has the tag "baseline"\n  Move it with --force.\n' == refused
    program.output("tag", "2", "baseline", "--force")
    assert program.output("show", "baseline").startswith("run 2")


# Databases


@pytest.mark.parametrize("args", [["list"], ["show", "1"], ["tag", "1", "x"], ["untag", "x"]])
def test_a_database_that_is_not_there_is_not_made(
    program: Program, tmp_path: Path, args: list[str]
) -> None:
    """Its name is a slip."""
    assert "there is no such database" in program.error(*args, "--db", tmp_path / "slip.db")
    assert not (tmp_path / "slip.db").exists()


def test_the_users_own_database_may_be_missing(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was measured yet."""
    monkeypatch.delenv("INSTRUCTION_COUNTS_DB")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    assert "" == program.output("list")


def test_a_damaged_database_gives_no_traceback(program: Program, db: Path) -> None:
    """The file is named, and the exit code is 1."""
    db.write_bytes(db.read_bytes()[:9000])

    assert program.error("list").startswith(f"{db} is damaged: ")
