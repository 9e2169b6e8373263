"""Blocks that a child times at the other end of a socket."""

import json
import socket
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.engines.fork_blocks import opened_blocks
from instruction_counts.engines.turns import Block
from instruction_counts.system.worker_process import WorkerError

FAILED = WorkerError(Failure(FailureKind.EXCEPTION, "ValueError: bad"))


def child(
    answers: Iterable[Block], ended: list[str], then: Exception | None = None
) -> Callable[[Path], None]:
    """A child that is ready, answers as it is told, and ends when nobody asks any more."""

    def run(place: Path) -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(place))
            with connection.makefile("rwb", buffering=0) as stream:
                stream.write(b'{"type": "ready"}\n')
                for answer in answers:
                    ended.append(f"{json.loads(stream.readline())['runs']} runs")
                    found = {"seconds": answer.seconds, "preempted": answer.preempted}
                    stream.write(json.dumps({**found, "major_faults": 0}).encode() + b"\n")
                if then is None and not stream.readline():
                    ended.append("nobody asks")
        if then is not None:
            raise then

    return run


def test_a_child_is_asked_for_blocks_until_the_end(tmp_path: Path) -> None:
    """It learns how many runs, and then that nobody asks any more; its socket is removed."""
    ended: list[str] = []
    with opened_blocks(child([Block(0.25), Block(0.5, 2)], ended), tmp_path / "socket") as blocks:
        found = [blocks.time(10), blocks.time(20)]

    assert [Block(0.25), Block(0.5, 2)] == found
    assert ["10 runs", "20 runs", "nobody asks"] == ended
    assert [] == list(tmp_path.iterdir())


def fail(_: Path) -> None:
    """A setup that raises never connects, or connects and ends."""
    raise FAILED


@pytest.mark.parametrize(
    ("child", "message"), [(fail, "bad"), (lambda _: None, "ended")], ids=["it fails", "it ends"]
)
def test_a_child_that_is_never_ready_is_not_waited_for(
    child: Callable[[Path], None], message: str, tmp_path: Path
) -> None:
    """Its failure is raised; without one it is gone."""
    with pytest.raises(WorkerError, match=message), opened_blocks(child, tmp_path / "socket"):
        pytest.fail("nothing is ready")


def test_a_child_that_fails_between_two_blocks_raises_its_failure(tmp_path: Path) -> None:
    """The block that is waited for never comes."""
    with opened_blocks(child([Block(1.0)], [], FAILED), tmp_path / "socket") as blocks:
        blocks.time(1)
        with pytest.raises(WorkerError, match="bad"):
            blocks.time(1)
