"""``runs``, called as the console script calls it."""

from __future__ import annotations

import csv
import gzip
import io
import json
import os
import pty
import subprocess
import sys
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

ROOT = Path(__file__).resolve().parents[2]
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
    with Store.open(path) as store:
        store.tag(store.import_run(FIRST), "baseline")
        store.import_run(SECOND)
    monkeypatch.setenv("INSTRUCTION_COUNTS_DB", str(path))
    monkeypatch.setenv("COLUMNS", "80")
    return path


@pytest.fixture
def runs(capsys: pytest.CaptureFixture[str]) -> Program:
    """The command."""
    return Program(capsys, ("runs",))


def stored(db: Path) -> dict[int, Run]:
    """What a database holds."""
    with Store.open(db) as store:
        return {run.id: store.load(run.id) for run in store.summaries()}


# list


def test_runs_are_listed_newest_first(runs: Program) -> None:
    """At 80 columns, where texts give way."""
    lines = [" ".join(line.split()) for line in runs.output("list").splitlines()]

    assert [
        "run started (UTC) torch cases failed state tags",
        "2 2026-02-03 04:05 base 2.13.0+cpu, new 1 0 complete",
        "2.14.0",
        "1 2026-01-02 03:04 2.13.0+cpu 2 1 complete baseline",
    ] == lines


def test_the_list_as_json_holds_the_same(runs: Program) -> None:
    """For programs."""
    out = runs.output("list", "--format", "json")

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
    } == json.loads(out)[1]


def test_a_database_without_runs_says_so(runs: Program, tmp_path: Path) -> None:
    """And where it is; as JSON it is an empty list."""
    path = tmp_path / "new.db"
    Store.open(path).close()
    answer = runs("list", "--db", path)

    assert 0 == answer.code
    assert "" == answer.out
    assert f"{path} contains no runs" in answer.err
    assert Answer(0, "[]\n", "") == runs("list", "--db", path, "--format", "json")


def test_a_long_list_of_builds_is_folded(runs: Program, db: Path) -> None:
    """The table stays readable in a pipe."""
    builds = {f"build-{number}": FINGERPRINT for number in range(9)}
    with Store.open(db) as store:
        store.import_run(attrs.evolve(make_run(), builds=builds))
    out = runs.output("list")

    assert max(map(len, out.splitlines())) <= 80
    assert all(name in out for name in builds)


def test_what_cannot_be_printed_is_escaped(runs: Program, db: Path) -> None:
    """A file that was imported can hold anything; a line break makes no line."""
    odd = "\x1b[31m\ud800\n"
    print_ = attrs.evolve(FINGERPRINT, torch=odd, cpu=odd)
    record = attrs.evolve(make_record(), label=("Top", odd), build=odd)
    with Store.open(db) as store:
        store.import_run(Run(odd, odd, {odd: print_}, (record,), odd))

    for command in (["list"], ["show", "3"]):
        out = runs.output(*command)
        assert "\\x1b[31m?\\n" in out
        assert "\x1b" not in out
        assert not any(line.endswith("?") for line in out.splitlines())
    deleted = runs("delete", "3", "--yes").err
    assert "Deleted: run 3 (1 case, \\x1b[31m?\\n)\n" == deleted


# show


@pytest.mark.parametrize("name", ["1", "baseline"])
def test_a_run_is_shown_by_number_and_by_tag(runs: Program, name: str) -> None:
    """Its head, its builds, its results, and what failed."""
    lines = runs.output("show", name).splitlines()

    assert [
        "run 1 · complete · started 2026-01-02 03:04 UTC · engine timer ·",
        "instruction-counts 0.1.0",
        "tags: baseline",
        "torch 2.13.0+cpu · Python 3.11.7 · A Processor · valgrind-3.19.0",
        "failed  Top / bad · Python: ValueError: bad   (stmt line 1: x + y)",
        "2 cases: 1 ok · 1 failed",
    ] == [*lines[:4], *lines[-2:]]
    assert any("8,899" in line for line in lines)


def test_operators_are_shown_as_when_they_were_measured(
    runs: Program, db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forward and backward apart, with what the machine can do."""
    with Store.open(db) as store:
        store.import_run(OPERATORS)
    console.show(run_document(OPERATORS))
    measured = capsys.readouterr().out.partition("\n\n")[2]

    assert measured == runs.output("show", "3").partition("\n\n")[2]
    assert operators.machine_line(OPERATORS.machine) in measured


def test_a_run_is_shown_to_programs_as_its_file(runs: Program) -> None:
    """That of `run --output`, on standard output alone."""
    assert Answer(0, to_json(FIRST), "") == runs("show", "1", "--format", "json")


def test_an_empty_run_is_shown(runs: Program, db: Path) -> None:
    """One that was interrupted early."""
    with Store.open(db) as store:
        store.finish(store.begin(make_run()), make_run(), interrupted=True)
    out = runs.output("show", "3")

    assert "run 3 · interrupted · engine timer" == out.splitlines()[0].partition(" · instr")[0]
    assert "No case was measured." == out.splitlines()[-1]


@pytest.mark.parametrize("command", [["show"], ["export"], ["delete", "--yes"], ["tag"], ["untag"]])
def test_an_unknown_run_brings_similar_tags(
    runs: Program, command: list[str], tmp_path: Path
) -> None:
    """In every command."""
    more = {"export": [tmp_path / "x.json"], "tag": ["new"]}.get(command[0], [])

    assert runs.error(*command, "basline", *more).endswith("\n  Similar tags: baseline\n")


# export and import


def test_a_run_is_exported_as_it_was_written(runs: Program, tmp_path: Path) -> None:
    """The file is that of `run --output`."""
    answer = runs("export", "baseline", tmp_path / "x.json")

    assert Answer(0, "", f"Run 1 is saved: {tmp_path}/x.json\n") == answer
    assert to_json(FIRST) == (tmp_path / "x.json").read_text()


def test_a_run_is_exported_in_every_form(runs: Program, tmp_path: Path) -> None:
    """By the end of the name."""
    files = [tmp_path / name for name in ("x.json.gz", "x.csv", "x.md")]
    for file in files:
        runs.output("export", "1", file)
    rows = list(csv.DictReader(io.StringIO(files[1].read_text())))

    assert to_json(FIRST) == gzip.decompress(files[0].read_bytes()).decode()
    assert 2 == len(rows)
    assert "**torch 2.13.0+cpu" == files[2].read_text()[:18]


def test_an_unknown_form_is_refused(runs: Program, tmp_path: Path) -> None:
    """With the known ones."""
    assert ".txt, .md, .html, .json, .csv" in runs.error("export", "1", tmp_path / "x.xlsx")


def test_imported_runs_get_numbers(runs: Program, tmp_path: Path, db: Path) -> None:
    """One a line, in the order of the files."""
    for name, run in (("a.json", FIRST), ("b.json.gz", SECOND)):
        exporter_to(tmp_path / name).update(run, final=True)

    assert "3\n4\n" == runs.output("import", tmp_path / "b.json.gz", tmp_path / "a.json")
    assert {1: FIRST, 2: SECOND, 3: SECOND, 4: FIRST} == dict(sorted(stored(db).items()))


def test_an_import_makes_the_database(runs: Program, tmp_path: Path) -> None:
    """It may be the first that is stored."""
    exporter_to(tmp_path / "a.json").update(FIRST, final=True)
    imported = runs.output("import", tmp_path / "a.json", "--db", tmp_path / "new.db")

    assert "1\n" == imported
    assert {1: FIRST} == stored(tmp_path / "new.db")


def test_a_file_that_cannot_be_read_stops_an_import_before_it_begins(
    runs: Program, tmp_path: Path, db: Path
) -> None:
    """No part of it has to be taken back."""
    exporter_to(tmp_path / "a.json").update(FIRST, final=True)
    (tmp_path / "b.json").write_text("{")
    runs.error("import", tmp_path / "a.json", tmp_path / "b.json")

    assert 2 == len(stored(db))


def test_export_and_import_lose_nothing(runs: Program, tmp_path: Path) -> None:
    """Round and round."""
    runs("export", "2", tmp_path / "a.json.gz")
    runs("import", tmp_path / "a.json.gz")
    runs("export", "3", tmp_path / "b.json.gz")

    assert SECOND == read_json(tmp_path / "b.json.gz")


# delete


def test_runs_are_deleted_without_a_question_on_demand(runs: Program, db: Path) -> None:
    """Each once, however often and by whatever name it is named."""
    answer = runs("delete", "1", "baseline", "--yes")

    assert Answer(0, "", "Deleted: run 1 (2 cases, 2026-01-02 03:04, baseline)\n") == answer
    assert {2: SECOND} == stored(db)


def test_nothing_is_deleted_where_one_name_is_wrong(runs: Program, db: Path) -> None:
    """The others may be slips as well."""
    runs.error("delete", "1", "7", "--yes")

    assert 2 == len(stored(db))


def delete(answer: str | None, db: Path) -> tuple[int, str]:
    """Delete a run in a process, on a terminal where there is an answer: exit code and remarks."""
    terminal, end = pty.openpty()
    with subprocess.Popen(
        [sys.executable, str(ROOT / "main.py"), "runs", "delete", "1", "--db", str(db)],
        stdin=subprocess.DEVNULL if answer is None else end,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        os.write(terminal, (answer or "").encode())
        _, err = process.communicate(timeout=600)
    os.close(terminal)
    os.close(end)
    return process.returncode, err


@pytest.mark.parametrize(
    ("answer", "last", "left"),
    [("y\n", "Deleted: run 1", [2]), ("n\n", "Nothing was deleted.", [1, 2])],
)
def test_deleting_asks(db: Path, answer: str, last: str, left: list[int]) -> None:
    """And names what would go."""
    code, err = delete(answer, db)

    assert 0 == code
    assert "run 1 (2 cases, 2026-01-02 03:04, baseline)\nDelete for good? [y/N]: " in err
    assert last in err
    assert left == sorted(stored(db))


def test_deleting_refuses_where_nobody_can_be_asked(db: Path) -> None:
    """In a script it has to be meant."""
    code, err = delete(None, db)

    assert 1 == code
    assert err.endswith("\n  Add --yes.\n")
    assert [1, 2] == sorted(stored(db))


# tag and untag


def test_a_run_gets_and_loses_a_tag(runs: Program) -> None:
    """With it the run can be named."""
    assert "Run 2 has the tag new\n" == runs("tag", "2", "new").err
    assert runs.output("show", "new").startswith("run 2")
    assert "No run has the tag new any more\n" == runs("untag", "new").err
    assert runs.error("show", "new")


def test_a_tag_is_moved_by_force(runs: Program) -> None:
    """And otherwise stays where it is."""
    refused = runs.error("tag", "2", "baseline")
    runs.output("tag", "2", "baseline", "--force")

    assert 'run 1 has the tag "baseline"\n  Move it with --force.\n' == refused
    assert runs.output("show", "baseline").startswith("run 2")


# Databases


@pytest.mark.parametrize(
    "args", [["list"], ["show", "1"], ["export", "1", "x.json"], ["tag", "1", "x"], ["untag", "x"]]
)
def test_a_database_that_is_not_there_is_not_made(
    runs: Program, tmp_path: Path, args: list[str]
) -> None:
    """Its name is a slip."""
    path = tmp_path / "slip.db"

    assert "there is no such database" in runs.error(*args, "--db", path)
    assert not path.exists()


def test_the_users_own_database_may_be_missing(
    runs: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was measured yet."""
    monkeypatch.delenv("INSTRUCTION_COUNTS_DB")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    assert "" == runs.output("list")


def test_a_damaged_database_gives_no_traceback(runs: Program, db: Path) -> None:
    """The file is named, and the exit code is 1."""
    db.write_bytes(db.read_bytes()[:9000])

    assert runs.error("list").startswith(f"{db} is damaged: ")
