"""Lanes on real workers of Dask, in processes of their own; their engine counts characters."""

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import attrs
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
from instruction_counts.system.cache import VARIABLE
from tests.cluster import slow_engine
from tests.fakes import make_case
from tests.process import ROOT
from tests.real import lock_file
from tests.session.fakes import Remarks
from tests.waiting import comes_true

dask = pytest.importorskip("dask")
pytestmark = pytest.mark.slow
pytest.importorskip("distributed")
BASE, NEW = (Build(name, sys.executable) for name in ("base", "new"))


@attrs.define
class Cluster:
    """A scheduler, and the workers that a test starts."""

    folder: Path
    address: str = ""
    processes: list[subprocess.Popen[bytes]] = attrs.field(factory=list)

    def start(self, *command: str, **variables: str) -> subprocess.Popen[bytes]:
        """A process of Dask."""
        known = {"PYTHONPATH": str(ROOT), slow_engine.NOTED: str(self.noted)}
        with (self.folder / "log").open("ab") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "dask", *command],
                env={**os.environ, **known, **variables},
                cwd=self.folder,
                stdout=log,
                stderr=log,
            )
        self.processes.append(process)
        return process

    def schedule(self, *options: str, **variables: str) -> None:
        """Start the scheduler."""
        file = self.folder / "scheduler.json"
        place = ("--host", "127.0.0.1", "--port", "0", "--scheduler-file", str(file))
        self.start("scheduler", *place, "--no-dashboard", *options, **variables)
        assert comes_true(lambda: file.exists() and file.read_text().endswith("}"))
        self.address = json.loads(file.read_text())["address"]

    def close(self) -> None:
        """End all of them."""
        for process in self.processes:
            process.kill()
            process.wait()

    def worker(self, **variables: str) -> subprocess.Popen[bytes]:
        """A worker with a lane for each of two cores."""
        options = (
            "--nthreads",
            "2",
            "--no-nanny",
            "--no-dashboard",
            "--preload",
            slow_engine.__file__,
        )
        return self.start("worker", self.address, *options, **variables)

    @property
    def noted(self) -> Path:
        """Where workers write what they measure."""
        return self.folder / "noted"

    def measured(self) -> list[list[str]]:
        """The process, the case, the build and the core of each measurement."""
        return [line.split() for line in self.noted.read_text().splitlines()]


@pytest.fixture(autouse=True)
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
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
        if event.outcome.instructions is not None
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
    seen: list[int] = []

    def after(number: int) -> None:
        seen.append(number)
        if number == 4:
            process.kill()

    with (
        runner_of(cluster, Remarks(), 1, BASE).lanes() as lanes,
        pytest.raises(UsageError, match=r"no worker is left\n.*--resume"),
    ):
        carried_out(orders([BASE], 30), lanes, after)

    assert 4 <= len(seen)


def test_a_worker_of_another_kind_is_left_out(cluster: Cluster) -> None:
    """Its counts would be others for reasons that are no change of the build."""
    for variables in ({}, {}, {slow_engine.CPU: "Another Processor"}):
        cluster.worker(**variables)
    told = Remarks()
    with runner_of(cluster, told, 3, BASE).lanes() as lanes:
        number = lanes.number

    assert 4 == number
    assert 1 == len([text for text in told.notes if "it has another cpu than most" in text])


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is not installed")
def test_what_is_not_on_this_machine_alone_is_encrypted_both_ways(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Certificates are those that Dask's own configuration names."""
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    command += ["-subj", "/CN=instruction-counts", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    names = {"CA_FILE": certificate}
    for role in ("SCHEDULER", "WORKER", "CLIENT"):
        names |= {f"{role}__CERT": certificate, f"{role}__KEY": key}
    own = {"ca-file": certificate, "client.cert": certificate, "client.key": key}
    variables = {f"DASK_DISTRIBUTED__COMM__TLS__{name}": str(at) for name, at in names.items()}
    with closing(Cluster(tmp_path)) as cluster:
        cluster.schedule("--protocol", "tls", **variables)
        cluster.worker(**variables)
        with pytest.raises(UsageError, match="and no certificates are configured"):
            connected(cluster.address)
        with (
            dask.config.set({f"distributed.comm.tls.{name}": str(at) for name, at in own.items()}),
            runner_of(cluster, Remarks(), 1, BASE).lanes() as lanes,
        ):
            found = counts(carried_out(orders([BASE], 3), lanes))

    assert cluster.address.startswith("tls://")
    assert {(f"case{n}", "base"): n + 1 for n in range(3)} == found


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
