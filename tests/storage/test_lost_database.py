"""A database that fills up, or goes away, in the middle of a run: no result is lost."""

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import attrs
import psycopg
import pytest

from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.outcomes import FunctionCost, FunctionCosts
from instruction_counts.domain.records import Run
from instruction_counts.domain.work import WorkOrder
from instruction_counts.execution.events import Event, Finished
from instruction_counts.session.measuring import Measured, MeasuredRun
from instruction_counts.storage.json_files import read_json
from instruction_counts.storage.store import Store
from tests.cores import lanes_of
from tests.fakes import OK, FakeEngine, exporter_to, make_orders
from tests.session.fakes import Remarks
from tests.small_disk import fill, small_disk
from tests.storage.postgresql import Server
from tests.storage.values import loaded

pytestmark = pytest.mark.faults

CASES = 12
ACTIONS: TypeAlias = dict[int, Callable[[], None]]


class _Remarks(Remarks):
    """Lets a case begin when the one before it has been stored, as far as that is possible."""

    def __init__(self) -> None:
        super().__init__()
        self.handled = threading.Semaphore(1)

    def show(self, event: Event) -> None:
        """See `Progress`."""
        if isinstance(event, Finished):
            self.handled.release()


@attrs.frozen
class Ended:
    """A run in spite of it all."""

    measured: MeasuredRun
    remarks: _Remarks
    file: Run
    """What the file of the run holds."""

    def kept(self) -> Run:
        """What a run that is not stored was kept in, by what is said at its end."""
        return read_json(Path(self.remarks.errors[-1].split()[-1].strip("'")))


def measured_while(actions: ACTIONS, store: Store, folder: Path) -> Ended:
    """A run of `CASES` cases in ``store``; each action is taken while that case is measured."""
    remarks, path = _Remarks(), folder / "o.json"

    def during(order: WorkOrder) -> None:
        remarks.handled.acquire()
        actions.get(int(order.case.label[1]), lambda: None)()

    # Large enough to fill a small disk, and not to be compressed; the first makes up the count.
    costs = [FunctionCost("lib.so", "f.cpp", os.urandom(16).hex(), 1) for _ in range(400)]
    costs[0] = attrs.evolve(costs[0], exclusive=100 * 8899 - 399)
    outcome = attrs.evolve(OK, functions=FunctionCosts(100, tuple(costs)))
    answers = {order.case.label: [outcome] for order in make_orders(CASES)}
    measured = Measured(
        "timer",
        lanes_of(FakeEngine(answers, during), 0),
        [exporter_to(path)],
        remarks,
        recorder=store,
    )
    return Ended(measured.execute(make_orders(CASES)), remarks, read_json(path))


def assert_kept(ended: Ended) -> None:
    """All is in the file of the run, and in the one where it was kept; it is not stored."""
    assert CASES == len(ended.measured.run.cases)
    assert CASES == len(ended.file.cases)
    assert ended.measured.run.is_stored is False
    assert all(record.outcome.functions is not None for record in ended.file.cases)
    assert ended.file == ended.kept()


def stored_in_spite_of(actions: ACTIONS, where: str | Path, folder: Path) -> Ended:
    """A run that is stored as if nothing had been."""
    with Store(where) as store:
        ended = measured_while(actions, store, folder)
        assert ended.measured.run_id is not None
        stored = loaded(store, ended.measured.run_id)

    assert ended.file == stored
    assert ended.measured.run.is_stored is True
    return ended


# SQLite


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    with small_disk(tmp_path / "small", "2m") as disk:
        yield disk


def test_a_full_disk_costs_no_result(disk: Path, tmp_path: Path) -> None:
    """What the database does not take is in the file, and the run says that it is not stored."""
    with Store(disk / "runs.db") as store:
        ended = measured_while({3: lambda: fill(disk)}, store, tmp_path)
        (summary,) = store.summaries()

    assert_kept(ended)
    assert 0 < summary.cases < CASES
    assert [1, 1] == [
        sum(text in error for error in ended.remarks.errors)
        for text in ("stay in memory", "is not stored as a whole")
    ]


def test_a_database_that_a_full_disk_keeps_from_being_read_says_where(disk: Path) -> None:
    """SQLite needs room even to read."""
    path = disk / "runs.db"
    Store(path).close()
    fill(disk)

    with pytest.raises(UsageError) as found, Store(path) as store:
        store.summaries()

    assert f"df -h {path}" in found.value.text("")


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_database_that_is_deleted_costs_no_result(tmp_path: Path, is_replaced: bool) -> None:
    """It is noticed, and the run kept in a file, with what was stored before."""
    path, other = tmp_path / "runs.db", tmp_path / "other.db"
    Store(other).close()

    def delete() -> None:
        for file in tmp_path.glob("runs.db*"):
            file.unlink()
        if is_replaced:
            other.rename(path)

    with Store(path) as store:
        ended = measured_while({3: delete}, store, tmp_path)

    assert_kept(ended)
    assert "runs.db was deleted or replaced while it was in use" in ended.remarks.errors[-1]
    assert is_replaced == path.exists()


def test_a_disk_that_has_room_again_takes_what_waited(disk: Path, tmp_path: Path) -> None:
    """With the next case."""
    actions: ACTIONS = {2: lambda: fill(disk), 5: (disk / "filler").unlink}
    ended = stored_in_spite_of(actions, disk / "runs.db", tmp_path)

    assert ["stay in memory" in error for error in ended.remarks.errors] == [True]


# PostgreSQL


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    """A server of its own: it is stopped."""
    with Server() as server:
        yield server


def test_a_server_that_goes_away_costs_no_result(server: Server, tmp_path: Path) -> None:
    """Also what it took before is whole in the file."""
    with Store(server.url) as store:
        ended = measured_while({5: server.stop}, store, tmp_path)
    server.start()

    assert_kept(ended)


def test_a_server_that_comes_back_takes_what_waited(server: Server, tmp_path: Path) -> None:
    """Nothing is missing in it then; after a lost connection, it goes over another one."""

    def end_all() -> None:
        with psycopg.connect(host=server.folder, user="postgres", autocommit=True) as connection:
            others = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> "
            connection.execute(f"{others} pg_backend_pid() AND backend_type = 'client backend'")

    stored_in_spite_of({4: server.stop, 8: server.start}, server.url, tmp_path)
    stored_in_spite_of({3: end_all}, server.url, tmp_path)
