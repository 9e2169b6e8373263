"""The store on both databases: what goes in comes out, whoever else writes, however it ends."""

from __future__ import annotations

import itertools
import math
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import attrs
import psycopg
import pytest
from hypothesis import HealthCheck, example, given, settings
from sqlalchemy import Connection, func, select, text, update

from instruction_counts.core.types import Language
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.noise import Noise
from instruction_counts.domain.outcomes import (
    CallCost,
    Details,
    FunctionCost,
    FunctionCosts,
    Outcome,
    Status,
)
from instruction_counts.domain.records import Record, Run
from instruction_counts.domain.stored import RunSummary
from instruction_counts.storage.database import Database
from instruction_counts.storage.json_files import to_json
from instruction_counts.storage.store import Store
from instruction_counts.storage.tables import METADATA, outcomes, runs, store_format
from tests.fakes import FINGERPRINT, OK, failed, make_record, make_run
from tests.storage.postgresql import Server
from tests.storage.values import RUNS, WHOLE

ROOT = Path(__file__).resolve().parents[2]
CALLED = FunctionCosts(
    100, (FunctionCost("a", "b", "c", 3), FunctionCost("d", "e", "f", 2)), (CallCost(0, 1, 2, -3),)
)


# Databases


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    """A PostgreSQL server on a socket in a folder of its own; the folder."""
    with Server() as server:
        yield server.folder


NUMBERS = itertools.count()


@contextmanager
def empty_schema(server: str) -> Iterator[str]:
    """The URL of a part of a server's database that is as good as one of its own, and quicker."""
    name = f"test_{next(NUMBERS)}"
    with psycopg.connect(host=server, user="postgres", autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}".encode())
        yield f"postgresql://postgres@/postgres?host={server}&options=-csearch_path={name}"
        connection.execute(f"DROP SCHEMA {name} CASCADE".encode())


@pytest.fixture(params=["sqlite", "postgresql"])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """Where a store can be made: both databases do the same."""
    if request.param == "sqlite":
        yield str(tmp_path / "runs.db")
        return
    with empty_schema(request.getfixturevalue("server")) as url:
        yield url


@pytest.fixture
def store(where: str) -> Iterator[Store]:
    """A new store."""
    with Store.open(where) as store:
        yield store


@pytest.fixture(scope="session", params=["sqlite", "postgresql"])
def shared_store(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Store]:
    """A store that many examples go through."""
    if request.param == "sqlite":
        with Store.open(tmp_path_factory.mktemp("store") / "runs.db") as store:
            yield store
        return
    with empty_schema(request.getfixturevalue("server")) as url, Store.open(url) as store:
        yield store


@contextmanager
def reading(where: str) -> Iterator[Connection]:
    """A look at the tables themselves."""
    with closing(Database(where)) as database, database.reading() as connection:
        yield connection


def rows(where: str) -> dict[str, int]:
    """How many rows each table has."""
    with reading(where) as connection:
        return {
            table.name: connection.scalar(select(func.count()).select_from(table)) or 0
            for table in METADATA.sorted_tables
        }


# What comes out


SOME = settings(
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)


@SOME
@given(run=RUNS)
@example(run=WHOLE)
def test_a_run_comes_back_as_it_was(shared_store: Store, run: Run) -> None:
    """Whatever it holds: as a whole, outcome by outcome, with its details or before them."""
    whole = shared_store.load(shared_store.import_run(run))
    number = shared_store.begin(attrs.evolve(run, cases=()))
    growing = [shared_store.add(number, record) for record in run.cases]
    light = shared_store.load(number, details=False).cases

    assert run == whole
    assert to_json(run) == to_json(whole)
    assert [Details()] * 2 * len(run.cases) == [
        record.outcome.details for record in (*growing, *light)
    ]
    assert run.cases == tuple(map(shared_store.completed, growing))
    assert run.cases == tuple(map(shared_store.completed, light))


def test_noise_that_is_found_after_a_run_is_stored_with_it(store: Store) -> None:
    """Whoever loads, exports or counts it finds the same noise; other cases have none."""
    first, other = make_record("a", build="new"), make_record("b", build="new")
    number = store.import_run(Run("1", "fork", {"new": FINGERPRINT}, (first, other)))
    noise = Noise(0.0, 0.25, 3)
    store.add_noises(number, "new", {first.key: noise})

    loaded = store.load(number)
    assert (attrs.evolve(first, noise=noise), other) == loaded.cases
    counts = store.counts([first.key, other.key])
    assert [noise, None] == [count.noise for count in counts]
    assert loaded == store.load(store.import_run(loaded))


def saying(words: str) -> Run:
    """A run with a text in columns and documents."""
    record = attrs.evolve(
        make_record(outcome=failed(message=words)), label=(words, "x"), build=words, stmt=words
    )
    return Run(words, words, {words: FINGERPRINT}, (record,), words)


ODD = ["\0", "\\x10\\u0000\\", "'\"; DROP TABLE runs; --", "%s %(x)s :x ?", "\r\n\t ", "x" * 9000]


@pytest.mark.parametrize("words", [*ODD, "\x7f\x80\u2028\ufeff\uffff\U0010ffff"])
def test_any_text_comes_back(store: Store, words: str) -> None:
    """Also what one of the databases would not take, or not in an index."""
    run = saying(words)
    number = store.import_run(run)

    assert run == store.load(number)
    assert (run.cases[0].key,) == store.case_keys()
    assert [words] == [count.build for count in store.counts(store.case_keys())]
    assert OK.details != store.details(number, words, run.cases[0].key)


def test_code_can_be_searched(store: Store, where: str) -> None:
    """People look into a database, too."""
    store.import_run(make_run(make_record("a", stmt="x + y")))
    where_it_is = 'label = \'["a"]\' AND per_run = 8899 AND document LIKE \'%"stmt": "x + y"%\''
    with reading(where) as connection:
        found = connection.execute(text(f"SELECT run_id FROM outcomes WHERE {where_it_is}"))  # noqa: S608 - ours
        assert [1] == list(found.scalars())


@pytest.mark.parametrize(
    ("second", "said"),
    [
        (make_record(outcome=failed()), "holds one case on one build twice"),
        (make_record("b", outcome=attrs.evolve(OK, duration_s=math.nan)), "b holds a number that"),
    ],
)
def test_what_cannot_be_stored_is_refused_as_a_whole(
    store: Store, second: Record, said: str
) -> None:
    """One of two equal cases would be lost; of a run that fails in its middle nothing is left."""
    with pytest.raises(DataError, match=said):
        store.import_run(make_run(make_record(), second))

    assert () == store.summaries()


# A run that goes on


def test_an_outcome_replaces_the_one_before(store: Store) -> None:
    """In its place, also where the case's code differs now."""
    number = store.begin(make_run(make_record("a", outcome=failed()), make_record("b")))
    again = make_record("a", stmt="other")
    store.add(number, again)

    assert (again, make_record("b")) == store.load(number).cases


@pytest.mark.parametrize(
    "other",
    [
        make_record("a", build="new"),
        make_record("a", language=Language.CPP),
        make_record("a", num_threads=2),
        make_record("a", "a"),
    ],
)
def test_another_case_replaces_nothing(store: Store, other: Record) -> None:
    """Build, label, modes and threads make a case."""
    number = store.begin(make_run(make_record("a"), builds=["default", "new"]))
    store.add(number, other)

    assert (make_record("a"), other) == store.load(number).cases


@pytest.mark.parametrize(
    ("interrupted", "state"), [(False, "complete"), (True, "interrupted"), (None, "running")]
)
def test_the_state_tells_how_a_run_ended(
    store: Store, interrupted: bool | None, state: str
) -> None:
    """Or that it did not yet."""
    number = store.begin(make_run())
    if interrupted is not None:
        store.finish(number, make_run(), interrupted=interrupted)

    assert state == store.summary(number).state


def test_the_end_of_a_run_brings_order_and_fingerprints(store: Store) -> None:
    """Lanes finish in any order, and some facts are known only when a server was up."""
    names = ["a", "b", "c"]
    final = Run(
        "0.2.0",
        "fork",
        {"x": attrs.evolve(FINGERPRINT, counted_capability="AVX2"), "default": FINGERPRINT},
        tuple(make_record(name) for name in names),
        "2026-01-02T03:04:05",
    )
    number = store.begin(make_run())
    for name in reversed(names):
        store.add(number, make_record(name))
    store.finish(number, final, interrupted=False)

    assert final == store.load(number)


def test_what_was_not_added_is_stored_at_the_end(store: Store) -> None:
    """And what the run does not hold any more stays behind the rest."""
    number = store.begin(make_run(make_record("extra"), make_record("b")))
    store.finish(number, make_run(make_record("a"), make_record("b")), interrupted=False)

    assert ["a", "b", "extra"] == [record.label[0] for record in store.load(number).cases]


@pytest.mark.parametrize("step", ["add", "add again", "finish", "load", "tag", "delete", "summary"])
def test_a_run_that_is_gone_is_an_error(store: Store, step: str) -> None:
    """It can be deleted at any time by another process."""
    number = store.begin(make_run(make_record()))
    store.delete(number)
    steps = {
        "add": lambda: store.add(number, make_record()),
        "add again": lambda: store.add(number, make_record(build="other")),
        "finish": lambda: store.finish(number, make_run(), interrupted=False),
        "load": lambda: store.load(number),
        "tag": lambda: store.tag(number, "x"),
        "delete": lambda: store.delete(number),
        "summary": lambda: store.summary(number),
    }
    with pytest.raises(UsageError, match=f"there is no stored run {number}"):
        steps[step]()


# Lists, names, and deleting


def test_runs_are_listed_newest_first(store: Store) -> None:
    """With what tells one from another."""
    first = attrs.evolve(
        make_run(make_record(), make_record("b", outcome=failed()), builds=["new", "base"]),
        started_at="2026-01-02T03:04:05",
    )
    store.tag(store.import_run(first), "z")
    store.tag(1, "y")
    store.begin(make_run())
    versions = {"new": FINGERPRINT.torch, "base": FINGERPRINT.torch}

    assert (
        RunSummary(2, "", "running", "timer", {"default": FINGERPRINT.torch}, (), 0, 0),
        RunSummary(1, first.started_at, "complete", "timer", versions, ("y", "z"), 2, 1),
    ) == store.summaries()


@pytest.mark.parametrize("status", Status)
def test_what_has_no_result_is_counted_as_failed(store: Store, status: Status) -> None:
    """But for what was skipped."""
    number = store.import_run(make_run(make_record(outcome=Outcome(status))))

    assert int(status in {Status.FAILED, Status.TIMEOUT}) == store.summary(number).failed


def test_a_run_is_found_by_number_and_tag(store: Store) -> None:
    """And nothing by anything else."""
    store.import_run(make_run())
    store.tag(1, "bäse 2.1")
    odd = ["2", "-1", "base", "", "1.0", " 1", "\ud800", "\0", "9" * 30, "9" * 5000, "١"]

    assert [1, 1, *[None] * len(odd)] == [store.find(text) for text in ["1", "bäse 2.1", *odd]]


@pytest.mark.parametrize(
    "name", ["", " ", " a", "1", "١", "-a", "a:b", "a/b", "a.json", "a\nb", "\ud800"]
)
def test_a_name_that_would_mislead_is_no_tag(store: Store, name: str) -> None:
    """Numbers, options, files, and builds of a run have names of their own."""
    number = store.import_run(make_run())
    with pytest.raises(UsageError, match="is not a valid tag"):
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


def test_a_name_that_is_unknown_brings_similar_ones(store: Store) -> None:
    """Most are slips of the fingers."""
    store.tag(store.import_run(make_run()), "baseline")
    with pytest.raises(UsageError) as caught:
        store.untag("basline")

    assert ["baseline"] == store.similar_tags("basline")
    assert 'no run has the tag "basline"\n  Similar tags: baseline' == str(caught.value)


def test_deleting_the_last_run_leaves_nothing(store: Store, where: str) -> None:
    """No outcome and no tag."""
    number = store.import_run(make_run(make_record(), make_record("b", outcome=failed())))
    store.tag(number, "base")
    store.delete(number)

    assert {"store_format": 1} == {table: count for table, count in rows(where).items() if count}


def test_deleting_a_run_leaves_the_others(store: Store) -> None:
    """Its number is not given again."""
    other = make_run(make_record("a"), make_record("b"))
    numbers = [store.import_run(run) for run in (other, make_run(make_record("a")))]
    store.delete(numbers[1])

    assert other == store.load(numbers[0])
    assert 1 == len(store.summaries())
    assert store.import_run(make_run()) not in numbers


# Formats


def test_a_database_of_another_format_is_refused(where: str) -> None:
    """With what was found, in one line and a remedy, and without a change."""
    with closing(Database(where)) as database:
        with database.writing() as connection:
            connection.execute(update(store_format).values(version=9999))
        with pytest.raises(DataError, match=r"is a database of format 9999, and this program"):
            Store.open(where)
        with database.writing() as connection:
            METADATA.drop_all(connection)
            connection.execute(text("CREATE TABLE alembic_version (version_num TEXT)"))
        with pytest.raises(DataError, match="of an unreleased version") as caught:
            Store.open(where)

    assert "--db" in caught.value.remedy


@pytest.mark.parametrize(
    ("table", "values", "said"),
    [
        (outcomes, {"document": "{"}, "run 1 cannot be read: Expecting"),
        (outcomes, {"document": "{}"}, r"run 1 cannot be read: Record \$ is none, .*a field"),
        (outcomes, {"details": b"x"}, "run 1 cannot be read: Error -5"),
        (runs, {"document": "[]"}, r"run 1 cannot be read: Run \$ is \[\], expected a mapping"),
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
        store.load(number)
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
        store = Store.open(sys.argv[1])
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
    with Store.open(where) as store:
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
        with Store.open(sys.argv[1]) as store:
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
    with Store.open(where) as store:
        assert [(0, "")] * 3 == ends
        assert [expected] * 3 == [store.load(run.id) for run in store.summaries()]


def test_threads_write_at_once(store: Store) -> None:
    """One store serves them all."""
    number = store.begin(make_run())

    def add(name: int) -> None:
        store.add(number, make_record(str(name)))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add, range(60)))

    assert set(map(str, range(60))) == {record.label[0] for record in store.load(number).cases}


def test_a_database_that_stays_locked_is_reported(where: str) -> None:
    """After some patience."""
    holder = Database(where)
    with Store.open(where, lock_timeout_s=0.1) as store, holder.writing() as connection:
        connection.execute(update(runs).values(state="x"))
        with pytest.raises(DataError, match=r"locked by another process for 0\.1 s\n  Try again"):
            store.begin(make_run())
    holder.close()


def test_readers_do_not_wait_for_a_writer(where: str) -> None:
    """They see what was there before."""
    with Store.open(where, lock_timeout_s=0.1) as store:
        number = store.import_run(make_run())
        holder = Database(where)
        with holder.writing() as connection:
            connection.execute(update(runs).values(state="x"))
            assert make_run() == store.load(number)
            assert 1 == len(store.summaries())
        holder.close()


# Cases over many runs


def test_the_counts_of_a_case_come_in_order_of_time(store: Store) -> None:
    """Whenever the runs were stored; with what tells the builds apart, and their tags."""
    older = attrs.evolve(make_run(make_record("a"), make_record("b")), started_at="2026-01-01")
    newer = attrs.evolve(make_run(make_record("a")), started_at="2026-01-02")
    numbers = [store.import_run(run) for run in (newer, older)]
    store.tag(numbers[0], "nightly")
    (name,) = (key for key in store.case_keys() if key.label == ("a",))
    found = store.counts([name])

    assert [(numbers[1], ()), (numbers[0], ("nightly",))] == [
        (run.run_id, run.tags) for run in found
    ]
    assert {(name, FINGERPRINT, "timer", make_record("a").definition_hash, 8899)} == {
        (
            count.case,
            count.fingerprint,
            count.engine,
            count.definition_hash,
            count.instructions.per_run if count.instructions else None,
        )
        for count in found
    }


def test_cases_of_an_unknown_runtime_are_left_out(store: Store) -> None:
    """Whoever registered it may be at work elsewhere; the run is refused by name."""
    number = store.import_run(make_run(make_record("a")))
    with store._database.writing() as connection:
        document = func.replace(outcomes.c.document, '"eager"', '"unknown-anywhere"')
        connection.execute(update(outcomes).values(runtime="unknown-anywhere", document=document))

    assert () == store.case_keys()
    with pytest.raises(DataError, match=r'runtime is "unknown-anywhere", expected one of eager'):
        store.load(number)


def test_cases_keep_their_name_when_their_code_changes(store: Store) -> None:
    """Counts of both are found, and told apart by the hash of the definition."""
    for code in ("x + y", "y + x"):
        store.import_run(make_run(make_record("a", stmt=code)))
    (name,) = store.case_keys()

    assert 2 == len({count.definition_hash for count in store.counts([name])})


def test_a_case_that_failed_is_found_with_the_reason(store: Store) -> None:
    """In one line, and without a count."""
    store.import_run(make_run(make_record("a", outcome=failed(message="bad\nworse"))))
    (count,) = store.counts(store.case_keys())

    assert Status.FAILED == count.status
    assert count.instructions is None
    assert "bad" == count.failure


def test_all_builds_of_a_run_are_found(store: Store) -> None:
    """In their order."""
    records = [make_record("a", build=name) for name in ("old", "new")]
    store.import_run(make_run(*records, builds=("old", "new")))

    assert ["old", "new"] == [count.build for count in store.counts(store.case_keys())]


def test_counts_of_nothing_are_none(store: Store) -> None:
    """Neither of an empty store, nor of a case that is not in it."""
    name = attrs.evolve(make_record().key, label=("b",))
    store.import_run(make_run(make_record("a")))

    assert () == store.counts([])
    assert () == store.counts([name])
    assert store.details(1, "default", name).functions is None


def test_details_of_another_run_are_not_taken_for_those_of_a_deleted_one(store: Store) -> None:
    """Outcomes of a new run can have the numbers of those that were deleted."""
    number = store.import_run(make_run(make_record()))
    (light,) = store.load(number, details=False).cases
    store.delete(number)
    assert Details() == store.completed(light).outcome.details
    store.import_run(make_run(make_record(outcome=attrs.evolve(OK, functions=CALLED))))

    assert store.completed(light).outcome.functions is None
