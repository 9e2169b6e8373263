"""Blocks that a child times at the other end of a socket."""

import json
import socket
from pathlib import Path

import attrs
import pytest

from instruction_counts.engines.fork_blocks import opened_blocks
from instruction_counts.engines.turns import Block
from instruction_counts.system.worker_process import WorkerError


def test_a_child_is_asked_for_blocks_until_the_end(tmp_path: Path) -> None:
    """It learns how many runs, and then that nobody asks any more; its socket is removed."""
    answers, asked = [Block(0.25), Block(0.5, 2, 3)], list[str]()

    def child(place: Path) -> None:
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(place))
            with connection.makefile("rwb", buffering=0) as stream:
                stream.write(b'{"type": "ready"}\n')
                for answer in answers:
                    asked.append(f"{json.loads(stream.readline())['runs']} runs")
                    stream.write(json.dumps(attrs.asdict(answer)).encode() + b"\n")
                if not stream.readline():
                    asked.append("nobody asks")

    with opened_blocks(child, tmp_path / "socket") as blocks:
        found = [blocks.time(10), blocks.time(20)]

    assert answers == found
    assert ["10 runs", "20 runs", "nobody asks"] == asked
    assert [] == list(tmp_path.iterdir())


def test_a_child_that_is_never_ready_is_not_waited_for(tmp_path: Path) -> None:
    """It says nothing, and is gone."""
    opened = opened_blocks(lambda _: None, tmp_path / "socket")
    with pytest.raises(WorkerError, match="ended"), opened:
        pytest.fail("nothing is ready")
