"""Lanes on real workers of Dask, in processes of their own; their engine counts characters."""

import shutil
import signal
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from instruction_counts.cluster.connection import connected
from instruction_counts.cluster.lanes import Workers
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.work import WorkOrder
from instruction_counts.engines.registry import register, unregister
from instruction_counts.execution.events import Finished
from instruction_counts.execution.lanes import Lanes
from instruction_counts.execution.scheduler import execute
from instruction_counts.session.builds import BuildRunner, MeasurementSettings
from instruction_counts.storage.json_files import read_json
from instruction_counts.system.cache import VARIABLE
from tests.cluster import slow_engine
from tests.cluster.real import Cluster, certificates
from tests.fakes import make_case
from tests.process import write_definitions
from tests.real import lock_file
from tests.session.fakes import Remarks
from tests.waiting import comes_true

dask = pytest.importorskip("dask")
pytestmark = pytest.mark.slow
pytest.importorskip("distributed")
BASE, NEW = (Build(name, sys.executable) for name in ("base", "new"))


@pytest.fixture(autouse=True)
def engine() -> Iterator[None]:
    """Known to the controller, too."""
    register(slow_engine.ENGINE)
    yield
    unregister(slow_engine.ENGINE)


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler that listens on a free port of the loopback."""
    with closing(Cluster(tmp_path)) as found:
        found.schedule()
        yield found


def runner_of(cluster: Cluster, told: Remarks, workers: int, *builds: Build) -> BuildRunner:
    """What measures on the workers of a cluster, once they are there."""
    settings = MeasurementSettings(engine="slow", lanes=cluster.address, jobs=2, times=False)
    there = Workers(connected(cluster.address))
    assert comes_true(lambda: there.look() or len(there.there) == workers)
    return BuildRunner.of(builds, settings, told)


def orders(builds: Sequence[Build], number: int) -> list[WorkOrder]:
    """As many cases on these builds, whose statements are longer and longer."""
    cases = [make_case(f"case{place}", stmt="x" * (place + 1)) for place in range(number)]
    return [WorkOrder(case, build) for case in cases for build in builds]


def carried_out(
    asked: Sequence[WorkOrder], lanes: Lanes, after: Callable[[int], None] = lambda _: None
) -> list[Finished]:
    """What becomes of orders; ``after`` hears how many are done."""
    finished = []
    for event in execute(asked, lanes):
        if isinstance(event, Finished):
            finished.append(event)
            after(len(finished))
    return finished


def counts(finished: Sequence[Finished]) -> dict[tuple[str, str], int | None]:
    """The instructions of each case and build."""
    return {
        (event.order.case.label[-1], event.order.build.name): event.outcome.instructions.per_run
        for event in finished
    }


def test_a_case_is_measured_by_one_worker_on_one_core_on_all_builds(cluster: Cluster) -> None:
    """What drifts meets all builds alike; both workers have something to do."""
    for _ in range(2):
        cluster.worker(**{slow_engine.SECONDS: "0.05"})
    asked = orders([BASE, NEW], 12)
    with runner_of(cluster, Remarks(), 2, BASE, NEW).lanes() as lanes:
        found = counts(carried_out(asked, lanes))
    places = defaultdict(set)
    for process, case, _, core in cluster.measured():
        places[case].add((process, core))

    assert {(f"case{n}", name): n + 1 for n in range(12) for name in ("base", "new")} == found
    assert all(len(where) == 1 for where in places.values())
    assert 2 == len({process for where in places.values() for process, _ in where})


def test_what_a_killed_worker_had_goes_to_another_one(cluster: Cluster) -> None:
    """Each order has one outcome, and it is said who is gone."""
    first = cluster.worker(**{slow_engine.SECONDS: "0.2"})
    cluster.worker(**{slow_engine.SECONDS: "0.2"})
    told = Remarks()
    with runner_of(cluster, told, 2, BASE).lanes() as lanes:
        finished = carried_out(orders([BASE], 30), lanes, lambda n: n == 4 and first.kill())

    assert {(f"case{n}", "base"): n + 1 for n in range(30)} == counts(finished)
    assert 30 == len(finished)
    assert 1 == len([text for text in told.notes if " is gone; " in text])


@pytest.mark.parametrize("killed", ["scheduler", "worker"])
def test_without_workers_the_run_ends_with_the_remedy(cluster: Cluster, killed: str) -> None:
    """What was measured until then was handed over."""
    cluster.worker(**{slow_engine.SECONDS: "0.2"})
    process = cluster.processes[killed == "worker"]
    with (
        runner_of(cluster, Remarks(), 1, BASE).lanes() as lanes,
        pytest.raises(UsageError, match=r"no worker is left\n.*--resume"),
    ):
        carried_out(orders([BASE], 30), lanes, lambda n: n == 4 and process.kill())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_what_is_not_on_this_machine_alone_is_encrypted_both_ways(tmp_path: Path) -> None:
    """Certificates are those that Dask's own configuration names."""
    variables = certificates(tmp_path)
    own = {
        f"distributed.comm.tls.{name}": variables[f"DASK_DISTRIBUTED__COMM__TLS__{variable}"]
        for name, variable in (
            ("ca-file", "CA_FILE"),
            ("client.cert", "CLIENT__CERT"),
            ("client.key", "CLIENT__KEY"),
        )
    }
    with closing(Cluster(tmp_path, variables)) as cluster:
        cluster.schedule("--protocol", "tls")
        cluster.worker()
        with pytest.raises(UsageError, match="and no certificates are configured"):
            connected(cluster.address)
        with dask.config.set(own), runner_of(cluster, Remarks(), 1, BASE).lanes() as lanes:
            found = counts(carried_out(orders([BASE], 3), lanes))

    assert cluster.address.startswith("tls://")
    assert {(f"case{n}", "base"): n + 1 for n in range(3)} == found


@pytest.mark.thorough
def test_an_environment_of_a_lock_file_is_made_once_on_each_machine(
    cluster: Cluster, tmp_path: Path
) -> None:
    """Two workers of one machine want it at once; only the text of the file travels to them."""
    log, cache = tmp_path / "pip.log", tmp_path / "cache"
    for _ in range(2):
        cluster.worker(PIP_LOG=str(log), **{VARIABLE: str(cache)})
    path = lock_file(tmp_path)
    text = path.read_text()
    path.unlink()
    builds = [Build(name, lock=f"# {name}\n{text}") for name in ("base", "new")]
    told = Remarks()
    with runner_of(cluster, told, 2, *builds).lanes() as lanes:
        found = counts(carried_out(orders(builds, 4), lanes))

    assert {(f"case{n}", name): n + 1 for n in range(4) for name in ("base", "new")} == found
    assert 2 == log.read_text().count("Successfully installed tiny-1")
    assert 2 == len([*cache.glob("environments/[!.]*")])
    assert 2 == len([text for text in told.notes if "an environment is made" in text])


@pytest.mark.thorough
@pytest.mark.faults
def test_an_interrupt_keeps_what_is_finished_and_ends_what_workers_do(
    cluster: Cluster, tmp_path: Path
) -> None:
    """They do not wait until nothing was heard for minutes, and serve the next command."""
    definitions = write_definitions(tmp_path, quick="x = 1", held="x = 22", held2="x = 333")
    run = ("run", "--definitions", definitions)
    cluster.hold.touch()
    cluster.worker()
    cluster.wait_for(1)
    command = cluster.command(*run, "--output", "r.json")
    assert comes_true(lambda: len(cluster.held()) == 2)
    command.send_signal(signal.SIGINT)
    code = command.wait()
    closed = comes_true(cluster.noted.with_suffix(".closed").exists, within_s=120)
    cluster.hold.unlink()
    resumed = cluster.command(*run, "--resume", "r.json", "--output", "all.json").wait()

    assert [130, 0] == [code, resumed]
    assert closed
    assert [("quick",)] == [record.label for record in read_json(tmp_path / "r.json").cases]
    assert 3 == len(read_json(tmp_path / "all.json").cases)
    assert 1 == len([case for _, case, *_ in cluster.measured() if case == "quick"])
