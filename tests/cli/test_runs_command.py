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
from collections.abc import Callable
from pathlib import Path

import attrs
import pytest

from core.types import Language
from instruction_counts import cli
from instruction_counts.cli.shown_run import show_run
from instruction_counts.domain.records import Run
from instruction_counts.report import operators
from instruction_counts.report.exporting import Exporter
from instruction_counts.storage.json_files import read_json, to_json
from instruction_counts.storage.store import Store
from tests.analysis.operators.test_metrics import RUN as OPERATORS
from tests.fakes import FINGERPRINT, failed, make_record, make_run

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
def runs(capsys: pytest.CaptureFixture[str]) -> Callable[..., tuple[int, str, str]]:
    """Call the command; the exit code, and what it wrote to both streams."""

    def call(*args: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = cli.main(["runs", *args])
        printed = capsys.readouterr()
        return code, printed.out, printed.err

    return call


def stored(db: Path) -> dict[int, Run]:
    """What a database holds."""
    with Store.open(db) as store:
        return {one.id: store.load(one.id) for one in store.summaries()}


# list


def test_runs_are_listed_newest_first(runs: Callable[..., tuple[int, str, str]]) -> None:
    """With what tells one from another, within 80 columns."""
    code, out, _ = runs("list")
    lines = out.splitlines()

    assert (
        0,
        "run started (UTC) torch cases failed state tags",
        "2 2026-02-03 04:05 base 2.13.0+cpu, new 2.14.0 1 0 complete",
        "1 2026-01-02 03:04 2.13.0+cpu 2 1 complete baseline",
        True,
    ) == (code, *(" ".join(line.split()) for line in lines), max(map(len, lines)) <= 80)


def test_the_list_as_json_holds_the_same(runs: Callable[..., tuple[int, str, str]]) -> None:
    """For programs."""
    _, out, _ = runs("list", "--format", "json")

    assert {
        "id": 1,
        "started_at": "2026-01-02T03:04:05+00:00",
        "state": "complete",
        "engine": "timer",
        "builds": {"default": "2.13.0+cpu"},
        "tags": ["baseline"],
        "cases": 2,
        "failed": 1,
    } == json.loads(out)[1]


def test_a_database_without_runs_says_so(
    runs: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """And where it is; as JSON it is an empty list."""
    path = tmp_path / "new.db"
    Store.open(path).close()
    code, out, err = runs("list", "--db", str(path))

    assert (0, "", True, (0, "[]\n", "")) == (
        code,
        out,
        f"{path} holds no runs" in err,
        runs("list", "--db", str(path), "--format", "json"),
    )


def test_a_long_list_of_builds_is_folded(
    runs: Callable[..., tuple[int, str, str]], db: Path
) -> None:
    """The table stays readable in a pipe."""
    builds = {f"build-{number}": FINGERPRINT for number in range(9)}
    with Store.open(db) as store:
        store.import_run(attrs.evolve(make_run(), builds=builds))
    _, out, _ = runs("list")

    assert (True, True) == (
        max(map(len, out.splitlines())) <= 80,
        all(name in out for name in builds),
    )


def test_what_cannot_be_printed_is_escaped(
    runs: Callable[..., tuple[int, str, str]], db: Path
) -> None:
    """A file that was imported can hold anything."""
    odd = "\x1b[31m\ud800\n"
    print_ = attrs.evolve(FINGERPRINT, torch=odd, cpu=odd)
    with Store.open(db) as store:
        store.import_run(Run(odd, odd, {odd: print_}, (), odd))
    listed, shown = runs("list"), runs("show", "3")

    assert [(0, True, False)] * 2 == [
        (code, "\\ud800" in out.replace("\n", "").replace(" ", ""), "\x1b" in out)
        for code, out, _ in (listed, shown)
    ]


# show


@pytest.mark.parametrize("name", ["1", "baseline"])
def test_a_run_is_shown_by_number_and_by_tag(
    runs: Callable[..., tuple[int, str, str]], name: str
) -> None:
    """Its head, its builds, its results, and what failed."""
    code, out, _ = runs("show", name)
    lines = out.splitlines()

    assert (
        0,
        "run 1 · complete · started 2026-01-02 03:04 UTC · engine timer · instruction-counts 0.1.0",
        "tags: baseline",
        "default: torch 2.13.0+cpu · Python 3.11.7 · A Processor · valgrind-3.19.0",
        True,
        "failed  Top / bad · Python: ValueError: bad   (stmt line 1: x + y)",
        "2 cases: 1 ok · 1 failed",
    ) == (code, *lines[:3], "8,899" in out, *lines[-2:])


def test_operators_are_shown_as_when_they_were_measured(
    runs: Callable[..., tuple[int, str, str]], db: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Forward and backward apart, with what the machine can do."""
    with Store.open(db) as store:
        store.import_run(OPERATORS)
    show_run(OPERATORS)
    measured = capsys.readouterr().out
    _, stored_out, _ = runs("show", "3")

    assert (measured, True) == (
        stored_out.partition("\n\n")[2],
        operators.machine_line(OPERATORS.machine) in measured,
    )


def test_an_empty_run_is_shown(runs: Callable[..., tuple[int, str, str]], db: Path) -> None:
    """One that was interrupted early."""
    with Store.open(db) as store:
        store.finish(store.begin(make_run()), make_run(), interrupted=True)
    code, out, _ = runs("show", "3")

    assert (0, "run 3 · interrupted · engine timer", "No case was measured.") == (
        code,
        out.partition(" · instr")[0],
        out.splitlines()[-1],
    )


@pytest.mark.parametrize("command", [["show"], ["export"], ["delete", "--yes"], ["tag"], ["untag"]])
def test_an_unknown_run_brings_similar_tags(
    runs: Callable[..., tuple[int, str, str]], command: list[str], tmp_path: Path
) -> None:
    """In every command."""
    more = {"export": [str(tmp_path / "x.json")], "tag": ["new"]}.get(command[0], [])
    code, out, err = runs(*command, "basline", *more)

    assert (1, "", True) == (code, out, err.endswith("\n  Similar tags: baseline\n"))


# export and import


def test_a_run_is_exported_as_it_was_written(
    runs: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """The file is that of `run --output`."""
    code, out, err = runs("export", "baseline", str(tmp_path / "x.json"))

    assert (0, "", f"Run 1 is saved: {tmp_path}/x.json\n", to_json(FIRST)) == (
        code,
        out,
        err,
        (tmp_path / "x.json").read_text(),
    )


def test_a_run_is_exported_in_every_form(
    runs: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """By the end of the name."""
    files = [tmp_path / name for name in ("x.json.gz", "x.csv", "x.md")]
    codes = [runs("export", "1", str(file))[0] for file in files]
    rows = list(csv.DictReader(io.StringIO(files[1].read_text())))

    assert ([0, 0, 0], to_json(FIRST), 2, "**default**") == (
        codes,
        gzip.decompress(files[0].read_bytes()).decode(),
        len(rows),
        files[2].read_text()[:11],
    )


def test_an_unknown_form_is_refused(
    runs: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """With the known ones."""
    code, _, err = runs("export", "1", str(tmp_path / "x.xlsx"))

    assert (1, True) == (code, ".json, .json.gz, .csv, .md" in err)


def test_imported_runs_get_numbers(
    runs: Callable[..., tuple[int, str, str]], tmp_path: Path, db: Path
) -> None:
    """One a line, in the order of the files."""
    for name, run in (("a.json", FIRST), ("b.json.gz", SECOND)):
        Exporter(tmp_path / name).update(run, final=True)
    code, out, _ = runs("import", str(tmp_path / "b.json.gz"), str(tmp_path / "a.json"))

    assert (0, "3\n4\n", {1: FIRST, 2: SECOND, 3: SECOND, 4: FIRST}) == (
        code,
        out,
        dict(sorted(stored(db).items())),
    )


def test_an_import_makes_the_database(
    runs: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """It may be the first that is stored."""
    Exporter(tmp_path / "a.json").update(FIRST, final=True)
    _, out, _ = runs("import", str(tmp_path / "a.json"), "--db", str(tmp_path / "new.db"))

    assert ("1\n", {1: FIRST}) == (out, stored(tmp_path / "new.db"))


def test_a_file_that_cannot_be_read_stops_an_import_before_it_begins(
    runs: Callable[..., tuple[int, str, str]], tmp_path: Path, db: Path
) -> None:
    """No part of it has to be taken back."""
    Exporter(tmp_path / "a.json").update(FIRST, final=True)
    (tmp_path / "b.json").write_text("{")
    code, out, _ = runs("import", str(tmp_path / "a.json"), str(tmp_path / "b.json"))

    assert (1, "", 2) == (code, out, len(stored(db)))


def test_export_and_import_lose_nothing(
    runs: Callable[..., tuple[int, str, str]], tmp_path: Path
) -> None:
    """Round and round."""
    runs("export", "2", str(tmp_path / "a.json.gz"))
    runs("import", str(tmp_path / "a.json.gz"))
    runs("export", "3", str(tmp_path / "b.json.gz"))

    assert SECOND == read_json(tmp_path / "b.json.gz")


# delete


def test_runs_are_deleted_without_a_question_on_demand(
    runs: Callable[..., tuple[int, str, str]], db: Path
) -> None:
    """Each once, however often and by whatever name it is named."""
    code, _, err = runs("delete", "1", "baseline", "--yes")

    assert (0, "Deleted: run 1 (2 cases, 2026-01-02 03:04, baseline)\n", {2: SECOND}) == (
        code,
        err,
        stored(db),
    )


def test_nothing_is_deleted_where_one_name_is_wrong(
    runs: Callable[..., tuple[int, str, str]], db: Path
) -> None:
    """The others may be slips as well."""
    assert (1, 2) == (runs("delete", "1", "7", "--yes")[0], len(stored(db)))


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

    assert (0, True, True, left) == (
        code,
        "run 1 (2 cases, 2026-01-02 03:04, baseline)\nDelete for good? [y/N]: " in err,
        last in err,
        sorted(stored(db)),
    )


def test_deleting_refuses_where_nobody_can_be_asked(db: Path) -> None:
    """In a script it has to be meant."""
    code, err = delete(None, db)

    assert (1, True, [1, 2]) == (code, err.endswith("\n  Add --yes.\n"), sorted(stored(db)))


# tag and untag


def test_a_run_gets_and_loses_a_tag(
    runs: Callable[..., tuple[int, str, str]],
) -> None:
    """With it the run can be named."""
    said = [runs("tag", "2", "new")[2], runs("show", "new")[1][:5], runs("untag", "new")[2]]

    assert (
        ["Run 2 has the tag new\n", "run 2", "No run has the tag new any more\n"],
        1,
    ) == (said, runs("show", "new")[0])


def test_a_tag_is_moved_by_force(runs: Callable[..., tuple[int, str, str]]) -> None:
    """And otherwise stays where it is."""
    refused = runs("tag", "2", "baseline")
    moved = runs("tag", "2", "baseline", "--force")

    assert ((1, "", 'run 1 has the tag "baseline"\n  Move it with --force.\n'), 0, "run 2") == (
        refused,
        moved[0],
        runs("show", "baseline")[1][:5],
    )


# Databases


@pytest.mark.parametrize(
    "args", [["list"], ["show", "1"], ["export", "1", "x.json"], ["tag", "1", "x"], ["untag", "x"]]
)
def test_a_database_that_is_not_there_is_not_made(
    runs: Callable[..., tuple[int, str, str]], tmp_path: Path, args: list[str]
) -> None:
    """Its name is a slip."""
    path = tmp_path / "slip.db"
    code, out, err = runs(*args, "--db", str(path))

    assert (1, "", True, False) == (code, out, "there is no such database" in err, path.exists())


def test_the_users_own_database_may_be_missing(
    runs: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing was measured yet."""
    monkeypatch.delenv("INSTRUCTION_COUNTS_DB")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    assert (0, "") == runs("list")[:2]


def test_a_damaged_database_gives_no_traceback(
    runs: Callable[..., tuple[int, str, str]], db: Path
) -> None:
    """The file is named, and the exit code is 1."""
    db.write_bytes(db.read_bytes()[:9000])
    code, out, err = runs("list")

    assert (1, "", True) == (code, out, err.startswith(f"{db} is damaged: "))
