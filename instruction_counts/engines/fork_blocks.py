"""A case in a child of a server that takes times: each block of its runs when it is asked for."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from instruction_counts.domain.outcomes import Failure, FailureKind
from instruction_counts.engines.turns import Block
from instruction_counts.system.worker_process import WorkerError

_LOOK_UP_S = 0.05


class ForkBlocks:
    """What the child at the other end of a connection times."""

    def __init__(self, connection: socket.socket, failure: Callable[[], Exception]) -> None:
        self._connection, self._failure = connection, failure
        self._lines = connection.makefile("rb")

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


@contextlib.contextmanager
def opened_blocks(run: Callable[[Path], object], place: Path) -> Iterator[ForkBlocks]:
    """Let ``run`` carry out the task, whose child connects to ``place``; at the end it ends.

    Raises:
        WorkerError, ServerStartError: what ``run`` raises, also between two blocks.
    """
    errors: list[Exception] = []

    def carry_out() -> None:
        try:
            run(place)
        except Exception as error:  # noqa: BLE001 - raised where a block is waited for
            errors.append(error)

    thread = threading.Thread(target=carry_out, daemon=True)

    def failure() -> Exception:
        thread.join()
        ended = Failure(FailureKind.EXIT, "its process ended while it was timed")
        return errors[0] if errors else WorkerError(ended)

    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(place))
        listener.listen(1)
        listener.settimeout(_LOOK_UP_S)
        thread.start()
        try:
            connection = _accepted(listener, thread, failure)
            with contextlib.closing(ForkBlocks(connection, failure)) as blocks:
                blocks.wait()
                yield blocks
        finally:
            thread.join()
            place.unlink(missing_ok=True)


def _accepted(
    listener: socket.socket, thread: threading.Thread, failure: Callable[[], Exception]
) -> socket.socket:
    while True:
        try:
            connection, _ = listener.accept()
        except TimeoutError:
            if not thread.is_alive():
                raise failure() from None
        else:
            connection.settimeout(None)
            return connection
