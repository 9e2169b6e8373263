"""A case in a child of a server that takes times: each block of its runs when it is asked for."""

import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.engines.turns import Block
from instruction_counts.system.worker_process import WorkerError


class ForkBlocks:
    """What the child of a task times, at the other end of a connection."""

    def __init__(self, listener: socket.socket, task: Future[object]) -> None:
        self._task = task
        try:
            self._connection, _ = listener.accept()
        except OSError:
            raise self._failure() from None
        self._lines = self._connection.makefile("rb")

    def wait(self) -> None:
        """Wait until the case is ready."""
        self._receive()

    def close(self) -> None:
        """Ask for no further block."""
        self._lines.close()
        self._connection.close()

    def time(self, runs: int) -> Block:
        """See `Blocks`."""
        with contextlib.suppress(OSError):  # the answer says why
            self._connection.sendall(json.dumps({"runs": runs}).encode() + b"\n")
        found = self._receive()
        return Block(found["seconds"], found["preempted"], found["major_faults"])

    def _receive(self) -> dict[str, Any]:
        try:
            line = self._lines.readline()
        except OSError:
            line = b""
        if not line:
            raise self._failure()
        found: dict[str, Any] = json.loads(line)
        return found

    def _failure(self) -> BaseException:
        ended = Failure(FailureKind.EXIT, "its process ended while it was timed")
        return self._task.exception() or WorkerError(ended)


@contextlib.contextmanager
def opened_blocks(run: Callable[[Path], object], place: Path) -> Iterator[ForkBlocks]:
    """Let ``run`` carry out the task, whose child connects to ``place``; at the end it ends.

    Raises:
        WorkerError, ServerStartError: what ``run`` raises, also between two blocks.
    """
    with socket.socket(socket.AF_UNIX) as listener, ThreadPoolExecutor(1) as threads:
        listener.bind(str(place))
        listener.listen(1)
        task = threads.submit(run, place)
        # Nobody waits for a child that ends before it connects.
        task.add_done_callback(lambda _: listener.shutdown(socket.SHUT_RDWR))
        try:
            with contextlib.closing(ForkBlocks(listener, task)) as blocks:
                blocks.wait()
                yield blocks
        finally:
            place.unlink(missing_ok=True)
