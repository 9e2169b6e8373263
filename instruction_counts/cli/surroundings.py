"""What surrounds the program: signals that ask it to end, and output that may be lost.

A reader that has gone away never changes what a command does; neither does a terminal that knows
only ASCII, to which other characters are spelled out.
"""

import contextlib
import errno
import io
import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

# `timeout` sends its signal to the process and to its group: that is one request. Whoever presses
# Ctrl-C again after that wants an end at once.
_SAME_REQUEST_S = 1.0


@contextlib.contextmanager
def interrupts(*, final: bool) -> Iterator[None]:
    """SIGTERM, SIGHUP and Ctrl-C raise KeyboardInterrupt, unless they are ignored.

    ``final``: the program ends after this; a signal that comes late changes nothing then, its exit
    code least of all.
    """
    last_s = -_SAME_REQUEST_S

    def handle(number: int, frame: object) -> None:
        nonlocal last_s
        del number, frame
        now_s = time.monotonic()
        if now_s - last_s >= _SAME_REQUEST_S:
            last_s = now_s
            raise KeyboardInterrupt

    before = {
        number: signal.getsignal(number)
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
        if signal.getsignal(number) is not signal.SIG_IGN  # as nohup has it
    }
    for number in before:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, signal.SIG_IGN if final else handler)


class LossyFile(io.FileIO):
    """A file whose writes never fail: what cannot be written is dropped, from then on."""

    lost: OSError | None = None
    """Why something was dropped; None where nothing was."""

    def write(self, data: Any, /) -> int:
        """Write ``data``, or drop it; returns its whole length then."""
        try:
            if self.lost is None:
                return super().write(data)
        except OSError as error:
            self.lost = error
        return memoryview(data).nbytes


@contextlib.contextmanager
def lossy_streams() -> Iterator[list[OSError]]:
    """Let stdout and stderr drop what cannot be written; at the end, the list says why.

    It holds what results on stdout were lost for. A reader that has seen enough (``list | head``)
    and a stream that was closed are not in it. Streams that were replaced, as in tests, stay.
    """
    reasons: list[OSError] = []
    with _lossy(1, "stdout", reasons), _lossy(2, "stderr", []):
        yield reasons


@contextlib.contextmanager
def _lossy(number: int, name: str, reasons: list[OSError]) -> Iterator[None]:
    before = getattr(sys, name)
    if before is not getattr(sys, f"__{name}__"):
        yield
        return
    if before is None:  # else the next file that is opened, say a database, gets its number
        nowhere = os.open(os.devnull, os.O_WRONLY)
        if nowhere != number:
            os.dup2(nowhere, number)
            os.close(nowhere)
    else:
        before.flush()
    raw = LossyFile(number, "w", closefd=False)
    stream = io.TextIOWrapper(
        io.BufferedWriter(raw),
        encoding=getattr(before, "encoding", "utf-8"),
        errors="backslashreplace",
        line_buffering=number == 2 or getattr(before, "line_buffering", False),
    )
    setattr(sys, name, stream)
    try:
        yield
    finally:
        stream.flush()
        setattr(sys, name, before)
        if raw.lost is not None and raw.lost.errno != errno.EPIPE:
            reasons.append(raw.lost)
