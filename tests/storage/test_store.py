"""The store on both databases: what goes in comes out, whoever else writes, however it ends."""

import itertools
import math
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import attrs
import psycopg
import pytest
from sqlalchemy import func, select, text, update

from instruction_counts.core.types import Language
from instruction_counts.domain.effects import Noise
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.outcomes import Details, FailureKind, Outcome, Status
from instruction_counts.domain.records import Record, Run, RunSummary
from instruction_counts.storage.database import Database, outcomes, runs, store_format, tags
from instruction_counts.storage.store import Store
from tests.fakes import FINGERPRINT, OK, failed, make_record, make_run
from tests.history.made import point
from tests.process import ROOT
from tests.storage.postgresql import Server
from tests.storage.values import WHOLE, loaded

# Databases


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """A PostgreSQL server on a socket in a folder of its own; the folder."""
    with Server() as server:
        yield server.folder


NUMBERS = itertools.count()


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a store can be made: both databases do the same."""
    if request.param == "sqlite":
        yield str(tmp_path / "runs.db")
        return
    # A part of a server's database is as good as one of its own, and quicker.
    server, name = request.getfixturevalue("server"), f"test_{next(NUMBERS)}"
    with psycopg.connect(host=server, user="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
        yield f"postgresql://postgres@/postgres?host={server}&options=-csearch_path={name}"
        connection.execute(f"DROP SCHEMA {name} CASCADE".encode())


@pytest.fixture
def store(where: str) -> Iterator[Store]:
    """A new store."""
    with Store(where) as store:
        yield store


# What comes out


def test_a_run_comes_back_as_it_was(store: Store) -> None:
    """Each field of it: as a whole, outcome by outcome, with its details or before them."""
    number = store.begin(attrs.evolve(WHOLE, cases=()))
    growing = [store.add(number, record) for record in WHOLE.cases]
    light = store.load(number).cases

    assert WHOLE == loaded(store, store.import_run(WHOLE))
    assert [Details()] * 6 == [record.outcome.details for record in (*growing, *light)]
    assert WHOLE.cases == tuple(record.completed for record in growing)
    assert WHOLE.cases == tuple(record.completed for record in light)


def test_noise_that_is_found_after_a_run_is_stored_with_it(store: Store) -> None:
    """Whoever loads, exports or counts it finds the same noise; other cases have none."""
    first, other = make_record("a", build="new"), make_record("b", build="new")
    number = store.import_run(Run("1", "fork", {"new": FINGERPRINT}, (first, other)))
    noise = Noise(0.0, 0.25, 3)
    noisy = attrs.evolve(first, noise=noise)
    store.amend(number, [noisy.without_details()])

    found = loaded(store, number)
    assert (noisy, other) == found.cases
    counts = store.counts([first.key, other.key])
    assert [noise, None] == [count.noise for count in counts]
    assert found == loaded(store, store.import_run(found))


ODD = ["\0", "\\x10\\u0000\\", "'\"; DROP TABLE runs; --", "%s %(x)s :x ?", "\r\n\t ", "x" * 9000]


@pytest.mark.parametrize("words", [*ODD, "\x7f\x80\u2028\ufeff\uffff\U0010ffff"])
def test_any_text_comes_back(store: Store, words: str) -> None:
    """In columns and documents; also what a database would not take, or not in an index."""
    record = attrs.evolve(
        make_record(outcome=failed(message=words)), label=(words, "x"), build=words, stmt=words
    )
    run = Run(words, words, {words: FINGERPRINT}, (record,), words)
    number = store.import_run(run)

    assert run == loaded(store, number)
    assert (record.key,) == store.case_keys()
    assert [words] == [count.build for count in store.counts(store.case_keys())]
    assert OK.details != store.details(number, words, record.key)


def test_code_can_be_searched(store: Store) -> None:
    """People look into a database, too."""
    store.import_run(make_run(make_record("a", stmt="x + y")))
    where_it_is = 'label = \'["a"]\' AND per_run = 8899 AND document LIKE \'%"stmt": "x + y"%\''
    with store._database.reading() as connection:
        found = connection.execute(text(f"SELECT run_id FROM outcomes WHERE {where_it_is}"))  # noqa: S608 - ours
        assert [1] == list(found.scalars())


def test_what_cannot_be_stored_is_refused_as_a_whole(store: Store) -> None:
    """Of a run that fails in its middle nothing is left."""
    odd = make_record("b", outcome=attrs.evolve(OK, duration_s=math.nan))
    with pytest.raises(DataError, match="b contains a number"):
        store.import_run(make_run(make_record(), odd))

    assert () == store.summaries()


# A run that goes on

FAILED = make_record("a", outcome=failed())


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        # Also where the case's code differs now.
        (make_record("a", stmt="other"), (make_record("a", stmt="other"), make_record("b"))),
        *(
            (other, (FAILED, make_record("b"), other))
            for other in (
                make_record("a", build="new"),
                make_record("a", language=Language.CPP),
                make_record("a", num_threads=2),
                make_record("a", "a"),
            )
        ),
    ],
)
def test_an_outcome_replaces_that_of_the_same_case(
    store: Store, other: Record, expected: tuple[Record, ...]
) -> None:
    """In its place. Build, label, modes and threads make a case."""
    number = store.begin(make_run(FAILED, make_record("b"), builds=["default", "new"]))
    store.add(number, other)

    assert expected == loaded(store, number).cases


def test_the_end_of_a_run_brings_order_and_fingerprints(store: Store) -> None:
    """Lanes finish in any order, and some facts are known only when a server was up.

    What was not added is; what the run does not hold any more stays behind the rest.
    """
    names, extra = ["a", "b", "c"], make_record("extra")
    final = Run(
        "0.2.0",
        "fork",
        {"x": attrs.evolve(FINGERPRINT, counted_capability="AVX2"), "default": FINGERPRINT},
        tuple(make_record(name) for name in names),
        "2026-01-02T03:04:05",
    )
    number = store.begin(make_run(extra))
    for name in ("c", "b"):
        store.add(number, make_record(name))
    store.finish(number, final, interrupted=False)

    assert attrs.evolve(final, cases=(*final.cases, extra)) == loaded(store, number)


def test_a_run_that_is_gone_is_an_error(store: Store) -> None:
    """It can be deleted at any time by another process."""
    store.delete(store.begin(make_run(make_record())))
    for step in (
        lambda: store.add(1, make_record()),
        lambda: store.finish(1, make_run(), interrupted=False),
        lambda: store.load(1),
        lambda: store.tag(1, "x"),
        lambda: store.delete(1),
        lambda: store.summary(1),
    ):
        with pytest.raises(UsageError, match="there is no stored run 1"):
            step()


def test_a_killed_run_is_called_so_and_nothing_is_left_beside_the_database(tmp_path: Path) -> None:
    """As the system does for a process that dies; asking changes nothing."""
    path = tmp_path / "runs.db"
    with Store(path) as store:
        killed = store.begin(make_run())
    with Store(path) as store:
        states = [store.summary(killed).state for _ in range(2)]
        ended = store.begin(make_run())
        store.finish(ended, make_run(), interrupted=False)
        store.delete(killed)

    assert ["killed"] * 2 == states
    assert [] == list(tmp_path.glob("*.run-*"))


def test_a_run_goes_on_until_its_process_ends(tmp_path: Path) -> None:
    """Also where its number comes again: the database was removed, the file of a killed run left.

    Where no file can be locked nothing is known, and a run does not fail because of it.
    """
    path = tmp_path / "runs.db"
    Path(f"{path}.run-1.lock").touch()
    Path(f"{path}.run-2.lock").mkdir()
    with Store(path) as store, Store(path) as other:
        numbers = [store.begin(make_run()) for _ in range(2)]
        states = [[each.summary(number).state for number in numbers] for each in (store, other)]

    assert [["running"] * 2] * 2 == states


# Lists, names, and deleting


def test_runs_are_listed_newest_first(store: Store) -> None:
    """With what tells one from another; what was skipped has not failed.

    A case counts once, on however many builds it was measured.
    """
    outcomes = [OK, failed(), failed(FailureKind.TIMEOUT), Outcome(Status.SKIPPED)]
    records = [
        make_record(str(number), build=build, outcome=each)
        for build in ("new", "base")
        for number, each in enumerate(outcomes)
    ]
    first = attrs.evolve(
        make_run(*records, builds=["new", "base"]), started_at="2026-01-02T03:04:05"
    )
    store.tag(store.import_run(first), "z")
    store.tag(1, "y")
    store.begin(make_run())
    store.finish(store.begin(make_run()), make_run(), interrupted=True)
    torch = FINGERPRINT.torch
    builds = {"new": torch, "base": torch}

    assert (
        RunSummary(3, "", "interrupted", "timer", {"default": torch}, (), 0, 0),
        RunSummary(2, "", "running", "timer", {"default": torch}, (), 0, 0),
        RunSummary(1, first.started_at, "complete", "timer", builds, ("y", "z"), 4, 2),
    ) == store.summaries()


def test_an_imported_run_is_as_finished_as_its_file(store: Store) -> None:
    """What it lacks was not measured."""
    runs = [attrs.evolve(make_run(), is_finished=is_finished) for is_finished in (True, False)]

    assert ["complete", "interrupted"] == [
        store.summary(store.import_run(run)).state for run in runs
    ]


def test_a_run_is_found_by_number_and_tag(store: Store) -> None:
    """And nothing by anything else."""
    store.import_run(make_run())
    store.tag(1, "bäse 2.1")
    odd = ["2", "-1", "base", "", "1.0", " 1", "\ud800", "\0", "9" * 30, "9" * 5000, "١"]

    assert [1, 1, *[None] * len(odd)] == [store.find(text) for text in ["1", "bäse 2.1", *odd]]


NOT_VALID = r"not a valid tag\n  A tag is printable text .*\.json\.gz"
MISLEADING = ["", " ", " a", "1", "١", "-a", "a:b", "a/b", "a.json", "a\nb", "\ud800"]


@pytest.mark.parametrize(
    ("name", "said"),
    [("last", "is always the newest run"), *((name, NOT_VALID) for name in MISLEADING)],
)
def test_a_name_that_would_mislead_is_no_tag(store: Store, name: str, said: str) -> None:
    """Numbers, options, files, builds of a run and the last one have names of their own.

    Each rule is said, as nobody could guess which one was broken.
    """
    number = store.import_run(make_run())
    with pytest.raises(UsageError, match=said):
        store.tag(number, name)


def test_a_tag_moves_only_by_force(store: Store) -> None:
    """To the same run it may be given again; the run stays when it is taken away."""
    first, second = store.import_run(make_run()), store.import_run(make_run())
    store.tag(first, "base")
    store.tag(first, "base")
    with pytest.raises(UsageError, match=f'run {first} has the tag "base"\n  Move it with --force'):
        store.tag(second, "base")
    assert first == store.find("base")
    store.tag(second, "base", force=True)
    assert second == store.find("base")
    store.untag("base")

    assert store.find("base") is None
    assert second == store.find(str(second))
    with pytest.raises(UsageError, match='no run has the tag "base"'):
        store.untag("base")


def test_deleting_a_run_leaves_nothing_of_it_and_all_of_the_others(store: Store) -> None:
    """No outcome and no tag; its number is not given again."""
    other = make_run(make_record("a"), make_record("b"))
    numbers = [store.import_run(run) for run in (other, make_run(make_record("a")))]
    store.tag(numbers[1], "base")
    store.delete(numbers[1])
    with store._database.reading() as connection:
        left = [
            connection.scalar(select(func.count()).select_from(table))
            for table in (runs, outcomes, tags)
        ]

    assert [1, 2, 0] == left
    assert other == loaded(store, numbers[0])
    assert store.import_run(make_run()) not in numbers


# Formats


def test_a_database_of_another_format_is_refused(where: str) -> None:
    """With what was found, in one line and a remedy, and without a change."""
    with closing(Database(where)) as database:
        with database.writing() as connection:
            connection.execute(update(store_format).values(version=9999))
        with pytest.raises(DataError, match="is a database of format 9999, and this") as caught:
            Store(where)

    assert "--db" in caught.value.remedy


@pytest.mark.parametrize(
    ("table", "values", "said"),
    [
        (outcomes, {"document": "{"}, "run 1 cannot be read: Expecting"),
        (outcomes, {"document": "{}"}, r"run 1 cannot be read: Record \$ is none, .*a field"),
        (outcomes, {"details": b"x"}, "run 1 cannot be read: Error -5"),
        (runs, {"document": "[]"}, r"run 1 cannot be read: Run \$ is \[\] .*, expected a mapping"),
    ],
)
def test_what_was_changed_by_others_is_reported(
    store: Store, table: Any, values: dict[str, Any], said: str
) -> None:
    """In one line, with the run that can be deleted then."""
    number = store.import_run(make_run(make_record()))
    with store._database.writing() as connection:
        connection.execute(update(table).values(**values))

    with pytest.raises(DataError, match=said) as caught:
        loaded(store, number)
    assert f"runs delete {number}" == caught.value.command
    store.delete(number)


# Others at work


def start(where: str, *code: str) -> subprocess.Popen[str]:
    """A process that has a store open, and does something to it."""
    lines = [
        "import itertools, sys, time",
        "from instruction_counts.storage.store import Store",
        "from instruction_counts.storage.database import Database",
        "from tests.fakes import make_record, make_run",
        *(textwrap.dedent(part) for part in code),
    ]
    return subprocess.Popen(
        [sys.executable, "-c", "\n".join(lines), where],
        cwd=ROOT,
        text=True,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str]:
    """Wait for the end of a process: its exit code, and what else it wrote."""
    written, _ = process.communicate(timeout=600)
    return process.returncode, written


def test_a_killed_process_leaves_every_finished_outcome(where: str) -> None:
    """And a database that goes on."""
    process = start(
        where,
        """
        store = Store(sys.argv[1])
        number = store.begin(make_run())
        for name in itertools.count():
            store.add(number, make_record(str(name)))
            print(name, flush=True)
        """,
    )
    assert process.stdout is not None
    for _ in range(20):
        process.stdout.readline()
    process.kill()
    announced = 20 + len(process.stdout.readlines())
    finish(process)
    with Store(where) as store:
        found = [record.label[0] for record in store.load(1).cases]
        store.add(1, make_record("more"))

        # One may have been stored that nobody heard of.
        state = "running" if "://" in where else "killed"
        assert found == [str(name) for name in range(announced + (len(found) > announced))]
        assert state == store.summary(1).state
        assert len(found) + 1 == len(store.load(1).cases)


def test_processes_write_at_once(where: str) -> None:
    """Also the first that make the database together."""
    code = """
        print("ready", flush=True)
        sys.stdin.readline()
        with Store(sys.argv[1]) as store:
            number = store.begin(make_run())
            for name in range(25):
                store.add(number, make_record(str(name)))
            cases = [make_record(str(name)) for name in range(25)]
            store.finish(number, make_run(*cases), interrupted=False)
        """
    processes = [start(where, code) for _ in range(3)]
    for process in processes:
        assert process.stdout is not None
        process.stdout.readline()
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    ends = [finish(process) for process in processes]
    expected = make_run(*[make_record(str(name)) for name in range(25)])
    with Store(where) as store:
        assert [(0, "")] * 3 == ends
        assert [expected] * 3 == [loaded(store, run.id) for run in store.summaries()]


def test_whoever_writes_holds_up_writers_and_no_readers(where: str) -> None:
    """After some patience that is reported; readers see what was there before."""
    with Store(where, lock_timeout_s=0.1) as store, closing(Database(where)) as holder:
        number = store.import_run(make_run())
        with holder.writing() as connection:
            connection.execute(update(runs).values(state="x"))
            assert make_run() == loaded(store, number)
            assert 1 == len(store.summaries())
            with pytest.raises(DataError, match=r"another process for 0\.1 s\n  Try again"):
                store.begin(make_run())


# Cases over many runs


def test_the_counts_of_a_case_come_in_order_of_time(store: Store) -> None:
    """Whenever the runs were stored; of one run its builds in their order."""
    old, new = (make_record("a", build=build) for build in ("old", "new"))
    bad = make_record("a", stmt="other", outcome=failed(message="bad\nworse"))
    older = make_run(new, make_record("b"), old, builds=("old", "new"))
    numbers = [
        store.import_run(attrs.evolve(run, started_at=when))
        for run, when in ((make_run(bad), "2026-01-02"), (older, "2026-01-01"))
    ]
    store.tag(numbers[0], "nightly")
    (name,) = (key for key in store.case_keys() if key.label == ("a",))
    known = {"case": name, "engine": "timer", "definition_hash": old.definition_hash}
    first = point(8899, numbers[1], **known, build="old", started_at="2026-01-01")
    known["definition_hash"] = bad.definition_hash
    last = point(None, numbers[0], **known, started_at="2026-01-02")

    assert (
        *(first, attrs.evolve(first, build="new", definition_hash=new.definition_hash)),
        attrs.evolve(last, tags=("nightly",), failure="bad"),
    ) == store.counts([name])
    assert () == store.counts([])
    assert () == store.counts([attrs.evolve(name, label=("c",))])


def test_cases_of_an_unknown_runtime_are_left_out(store: Store) -> None:
    """Whoever registered it may be at work elsewhere; the run is refused by name."""
    number = store.import_run(make_run(make_record("a")))
    with store._database.writing() as connection:
        document = func.replace(outcomes.c.document, '"eager"', '"unknown-anywhere"')
        connection.execute(update(outcomes).values(runtime="unknown-anywhere", document=document))

    assert () == store.case_keys()
    with pytest.raises(DataError, match=r'"unknown-anywhere", expected one of eager') as caught:
        loaded(store, number)
    assert "read it with that one" in caught.value.remedy


def test_details_of_another_run_are_not_taken_for_those_of_a_deleted_one(store: Store) -> None:
    """Outcomes of a new run can have the numbers of those that were deleted."""
    number = store.import_run(make_run(make_record()))
    (light,) = store.load(number).cases
    store.delete(number)
    assert Details() == light.completed.outcome.details
    store.import_run(make_run(make_record()))

    assert light.completed.outcome.functions is None
