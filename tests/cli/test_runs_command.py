"""``runs``, called as the console script calls it."""

import io
import json
from pathlib import Path

import attrs
import pytest

from instruction_counts.core.types import Language
from instruction_counts.domain.records import Run
from instruction_counts.storage.store import Store
from tests.builders import to_json
from tests.cli.program import Answer, Program
from tests.fakes import FINGERPRINT, exporter_to, failed, make_record, make_run
from tests.storage.values import loaded

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
    with Store(path) as store:
        for run in (FIRST, SECOND):
            store.import_run(run)
        store.tag(1, "baseline")
    monkeypatch.setenv("INSTRUCTION_COUNTS_DB", str(path))
    monkeypatch.setenv("COLUMNS", "80")
    return path


def stored(db: Path) -> dict[int, Run]:
    """What a database holds."""
    with Store(db) as store:
        return {run.id: loaded(store, run.id) for run in reversed(store.summaries())}


# list


def test_runs_are_listed_newest_first(program: Program) -> None:
    """For programs, too; a tag stands beside its run."""
    rows = [line.split() for line in program.output("list").splitlines() if " complete" in line]

    assert [["2", "complete"], ["1", "baseline"]] == [[row[0], row[-1]] for row in rows]
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


def test_a_database_without_runs_says_so(
    program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And where it is; as JSON it is an empty list. The user's own may be missing."""
    path = tmp_path / "new.db"
    Store(path).close()
    answer = program("list", "--db", path)

    assert (0, "") == (answer.code, answer.out)
    assert f"{path} contains no runs" in answer.err
    assert Answer(0, "[]\n", "") == program("list", "--db", path, "--format", "json")
    monkeypatch.delenv("INSTRUCTION_COUNTS_DB")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert "" == program.output("list")


def test_what_cannot_be_printed_is_escaped(program: Program, db: Path) -> None:
    """A file that was imported can hold anything; a line break makes no line."""
    odd = "\x1b[31m\ud800\n"
    print_ = attrs.evolve(FINGERPRINT, torch=odd, cpu=odd)
    record = attrs.evolve(make_record(), label=("Top", odd), build=odd)
    with Store(db) as store:
        store.import_run(Run(odd, odd, {odd: print_}, (record,), odd))

    for command in (["list"], ["show", "3"]):
        out = program.output(*command)
        assert "\\x1b[31m?\\n" in out
        assert "\x1b" not in out
        assert not any(line.endswith("?") for line in out.splitlines())
    deleted = program("delete", "3", "--force").err
    assert "Deleted: run 3 (1 case, \\x1b[31m?\\n)\n" == deleted


# show


def test_a_run_is_shown_by_what_names_it(program: Program, db: Path) -> None:
    """Its number, its tag, or as the last; a file of it needs no database."""
    with Store(db) as store:
        store.delete(2)
    file = db.with_name("x.json")
    shown = [program.output("show", name) for name in ("1", "baseline", "last")]
    program.output("show", "1", "--output", file)
    from_file = program.output("show", file, "--db", "/nowhere/runs.db")

    head = "run 1 · complete · started 2026-01-02 03:04 UTC · engine timer ·\n"
    assert shown[0].startswith(f"{head}instruction-counts 0.1.0\ntags: baseline\n")
    assert shown == shown[:1] * 3
    assert shown[0].endswith(from_file[from_file.index("torch 2.13.0") :])


@pytest.mark.parametrize("command", ["show", "untag"])
def test_an_unknown_run_is_an_error(program: Program, command: str) -> None:
    """With where to look."""
    said = program.error(command, "basline")

    assert '"basline"' in said
    assert said.endswith("runs list\n")


# import


def test_imported_runs_get_numbers(program: Program, tmp_path: Path, db: Path) -> None:
    """One a line, in the order of the files; nothing is lost on the way through a file.

    A database is made where there is none.
    """
    for number, name in ((1, "a.json"), (2, "b.json.gz")):
        said = program.output("show", str(number), "--output", tmp_path / name)
        assert f"Saved: {tmp_path / name}" == said.splitlines()[-1]

    assert Answer(0, to_json(FIRST), "") == program("show", "1", "--format", "json")
    assert to_json(FIRST) == (tmp_path / "a.json").read_text()
    assert "3\n4\n" == program.output("import", tmp_path / "b.json.gz", tmp_path / "a.json")
    assert {1: FIRST, 2: SECOND, 3: SECOND, 4: FIRST} == stored(db)
    assert "1\n" == program.output("import", tmp_path / "a.json", "--db", tmp_path / "new.db")


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
def test_deleting_asks(
    *,
    answer: str | None,
    code: int,
    said: str,
    left: list[int],
    db: Path,
    program: Program,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """And names what would go; where nobody can be asked, it refuses."""
    terminal = io.StringIO(answer)
    monkeypatch.setattr(terminal, "isatty", lambda: answer is not None)
    monkeypatch.setattr("sys.stdin", terminal)
    found = program("delete", "1")

    question = "run 1 (2 cases, 2026-01-02 03:04, baseline)\nDelete for good? [y/N]:"
    assert code == found.code
    assert (answer is not None) is (question in found.err)
    assert said in found.err
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
