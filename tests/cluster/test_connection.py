"""Where a scheduler is: addresses and files of clusters, and what is refused."""

from pathlib import Path
from typing import ClassVar

import pytest

from instruction_counts.cluster.connection import connected
from instruction_counts.cluster.lanes import Workers, lanes_of
from instruction_counts.domain.errors import UsageError

pytest.importorskip("distributed")


@pytest.mark.parametrize(
    ("address", "message"),
    [
        # Whoever can reach a scheduler runs code on its workers.
        ("tcp://192.0.2.1:8786", r"is not encrypted.*\n.*tls://"),
        ("ws://example.org:8786", r"is not encrypted.*\n.*tls://"),
        ("tls://127.0.0.1:8786", r"no certificates are configured\n.*cluster\.md"),
        ("tcp://127.0.0.1:abc", r"no scheduler of Dask answers"),
        # Port 9 of the loopback answers nobody.
        ("tcp://127.0.0.1:9", r"no scheduler of Dask answers at tcp://127\.0\.0\.1:9"),
    ],
)
def test_a_scheduler_elsewhere_has_to_be_encrypted_and_one_here_has_to_be_there(
    address: str, message: str
) -> None:
    """With what to do."""
    with pytest.raises(UsageError, match=message):
        connected(address, timeout_s=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("cluster: NoCluster", ": there is no cluster NoCluster"),
        ("cluster: nowhere.Cluster", ": there is no cluster nowhere.Cluster"),
        (
            "cluster: LocalCluster\noptions: {unheard: 1}",
            ": LocalCluster cannot be made: .*TypeError.*unheard",
        ),
        ("cluster: LocalCluster\nworkers: many\n", r":2:\d+: \$.workers"),
    ],
)
def test_a_cluster_that_cannot_be_made_is_said_with_the_file(
    tmp_path: Path, text: str, message: str
) -> None:
    """With what its class says, or the line that holds something else."""
    path = tmp_path / "cluster.yaml"
    path.write_text(text)
    with pytest.raises(UsageError, match=f"{path}{message}"):
        connected(str(path))


def test_a_cluster_of_this_machine_is_made_from_a_file(tmp_path: Path) -> None:
    """Its workers are there as soon as they have started."""
    path = tmp_path / "cluster.yaml"
    path.write_text("cluster: LocalCluster\noptions: {n_workers: 2, dashboard_address: null}\n")

    assert 2 == len(Workers(connected(str(path))).there)


class Reachable:
    """A cluster with an address in the network, and no certificates."""

    scheduler_address = "tcp://192.0.2.1:8786"
    asked: ClassVar[list[str]] = []

    def scale(self, number: int) -> None:
        """Ask for workers."""
        self.asked.append(f"{number} workers")

    def close(self) -> None:
        """End it."""
        self.asked.append("closed")


def test_a_cluster_that_others_could_reach_is_closed_and_gets_no_workers(tmp_path: Path) -> None:
    """They would be asked for, and run what anybody in the network sends."""
    path = tmp_path / "cluster.yaml"
    path.write_text(f"cluster: {__name__}.Reachable\nworkers: 2\n")
    with pytest.raises(UsageError, match="is not encrypted"):
        connected(str(path))

    assert ["closed"] == Reachable.asked


def test_other_names_are_those_of_kinds_of_lanes() -> None:
    """Local ones, and what is registered from outside."""
    assert "local" == lanes_of("local").name
    with pytest.raises(UsageError, match=r'"nowhere"\n.*local, or a scheduler'):
        lanes_of("nowhere")
