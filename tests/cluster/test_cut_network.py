"""Machines whose network is cut: namespaces that a bridge joins, with encryption between them.

A cable that is pulled says nothing: packets vanish, and no connection is reset.
"""

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import attrs
import pytest

from instruction_counts.storage.json_files import read_json
from instruction_counts.system.folders import RUNTIME_VARIABLE
from tests.cluster.real import Cluster, certificates
from tests.process import write_definitions
from tests.waiting import comes_true, is_running

pytest.importorskip("distributed")
_MISSING = [name for name in ("ip", "nsenter", "openssl", "unshare") if not shutil.which(name)]
pytestmark = [
    *(pytest.mark.slow, pytest.mark.thorough, pytest.mark.faults),
    pytest.mark.skipif(bool(_MISSING), reason=f"not installed: {', '.join(_MISSING)}"),
]

_MACHINE = "ip link set lo up && echo ready && exec sleep infinity"
_HUB = "10.77.0.1"
_SOON = {"DASK_DISTRIBUTED__COMM__TIMEOUTS__TCP": "12s"}
"""How long packets may vanish; 30 s is usual, and takes the tests longer."""
_CUT_S = 2
"""Linux sends again what was lost after 3 and after 6 s: both are soon enough."""
CASES = ("quick1", "quick2", "held1", "held2", "held3", "held4", "held5", "held6")


@attrs.define
class Network:
    """A hub and machines around it; the first process is the hub's. It ends with them."""

    processes: list["subprocess.Popen[str]"] = attrs.field(factory=list)

    def add(self) -> int:
        """A further machine, and its number; skips the test where there can be none."""
        command = ["unshare", "--net", "sh", "-c", _MACHINE]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        process = subprocess.Popen(command, text=True, **pipes)
        assert process.stdout is not None
        if process.stdout.readline() != "ready\n":
            pytest.skip(f"there can be no network namespace: {process.communicate()[1].strip()}")
        self.processes.append(process)
        number = len(self.processes) - 1
        if number == 0:
            self._ip(0, "link add bridge type bridge")
            self._ip(0, f"addr add {_HUB}/24 dev bridge")
            self._ip(0, "link set bridge up")
        else:
            peer = f"type veth peer name eth0 netns {process.pid}"
            self._ip(0, f"link add port{number} {peer}")
            self._ip(0, f"link set port{number} master bridge up")
            self._ip(number, f"addr add 10.77.0.{number + 1}/24 dev eth0")
            self._ip(number, "link set eth0 up")
        return number

    def inside(self, number: int) -> tuple[str, ...]:
        """What starts a command on a machine."""
        return ("nsenter", f"--target={self.processes[number].pid}", "--net")

    def cut(self, *numbers: int) -> None:
        """Pull the cables of these machines."""
        for number in numbers:
            self._ip(0, f"link set port{number} down")

    def restore(self, *numbers: int) -> None:
        """Plug them in again."""
        for number in numbers:
            self._ip(0, f"link set port{number} up")

    def close(self) -> None:
        """End all of them."""
        for process in self.processes:
            process.kill()
            process.communicate()

    def _ip(self, number: int, arguments: str) -> None:
        command = [*self.inside(number), "ip", *arguments.split()]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"ip {arguments}: {done.stderr.strip()}")


@pytest.fixture
def network() -> Iterator[Network]:
    """A hub with two machines."""
    with closing(Network()) as found:
        for _ in range(3):
            found.add()
        yield found


@pytest.fixture
def cluster(network: Network, tmp_path: Path) -> Iterator[Cluster]:
    """A scheduler on the hub, where the command runs, too; a worker on each machine."""
    with ExitStack() as stack:
        made = Cluster(tmp_path, certificates(tmp_path) | _SOON, network.inside(0))
        found = stack.enter_context(closing(made))
        found.schedule("--protocol", "tls", host=_HUB)
        for number in (1, 2):
            start_worker(found, network, number)
        found.wait_for(2)
        found.hold.touch()
        yield found


def start_worker(cluster: Cluster, network: Network, number: int) -> "subprocess.Popen[bytes]":
    """A worker on a machine, which has its cores for itself."""
    own = {RUNTIME_VARIABLE: str(cluster.folder / f"machine{number}")}
    return cluster.worker(network.inside(number), "--nanny", **own)


def run_of(folder: Path) -> tuple[str, ...]:
    """A run of `CASES`."""
    cases = {label: f"x = {10**place}" for place, label in enumerate(CASES)}
    return ("run", "--definitions", write_definitions(folder, **cases))


def everything_waits(cluster: Cluster) -> bool:
    """Whether all lanes of both machines have a case that does not end."""
    return len(cluster.held()) == 4 and len(set(cluster.held())) == 2


def cases_in(path: Path) -> list[str]:
    """Those of a run, in the order of `CASES`."""
    return sorted((record.label[0] for record in read_json(path).cases), key=CASES.index)


def test_what_a_machine_had_that_is_cut_off_goes_to_another_one(
    cluster: Cluster, network: Network, tmp_path: Path
) -> None:
    """Its worker ends with all that it does; the next one on that machine serves the next run."""
    command = cluster.command(*run_of(tmp_path), "--output", "r.json")
    assert comes_true(lambda: everything_waits(cluster))
    both = set(cluster.held())
    network.cut(1)
    assert comes_true(lambda: " is gone; " in cluster.log.read_text())
    ended = comes_true(lambda: 1 == sum(is_running(int(process)) for process in both))
    network.restore(1)
    cluster.hold.unlink()
    code = command.wait()
    cluster.wait_for(1)
    start_worker(cluster, network, 1)
    cluster.wait_for(2)
    cluster.noted.unlink()
    again = cluster.command(*run_of(tmp_path)).wait()

    assert [0, 0] == [code, again]
    assert 1 == cluster.log.read_text().count(" is gone; ")
    assert [*CASES] == cases_in(tmp_path / "r.json")
    assert ended
    assert 2 == len({process for process, *_ in cluster.measured()})


def test_a_cut_that_ends_soon_costs_no_more_than_its_time(
    cluster: Cluster, network: Network, tmp_path: Path
) -> None:
    """What a machine measured meanwhile is delivered, and nobody measures it again."""
    command = cluster.command(*run_of(tmp_path), "--output", "r.json")
    assert comes_true(lambda: everything_waits(cluster))
    network.cut(1)
    cluster.hold.unlink()
    time.sleep(_CUT_S)
    network.restore(1)
    code = command.wait()

    assert code == 0
    assert " is gone; " not in cluster.log.read_text()
    assert [*CASES] == cases_in(tmp_path / "r.json")
    assert [*CASES] == sorted((case for _, case, *_ in cluster.measured()), key=CASES.index)


def test_where_all_machines_are_cut_off_what_was_measured_is_kept(
    cluster: Cluster, network: Network, tmp_path: Path
) -> None:
    """The run ends with the remedy, and goes on with what is left once there are workers."""
    resume = ("--resume", "r.json", "--output", "all.json")
    command = cluster.command(*run_of(tmp_path), "--output", "r.json")
    assert comes_true(lambda: everything_waits(cluster))
    network.cut(1, 2)
    code = command.wait()
    told = cluster.log.read_text()
    network.restore(1, 2)
    cluster.hold.unlink()
    cluster.wait_for(0)
    for number in (1, 2):
        start_worker(cluster, network, number)
    cluster.wait_for(2)
    cluster.noted.rename(tmp_path / "noted before")
    resumed = cluster.command(*run_of(tmp_path), *resume).wait()

    assert [1, 0] == [code, resumed]
    assert "no worker is left" in told
    assert "--resume" in told
    assert ["quick1", "quick2"] == cases_in(tmp_path / "r.json")
    assert [*CASES] == cases_in(tmp_path / "all.json")
    assert {*CASES} - {"quick1", "quick2"} == {case for _, case, *_ in cluster.measured()}
