"""What surrounds the program: signals that ask it to end, and output that may be lost.

A reader that has gone away never changes what a command does; neither does a terminal that knows
only ASCII.
"""

from __future__ import annotations

import codecs
import contextlib
import errno
import io
import os
import signal
import sys
import time
from collections.abc import Iterator
from typing import Any

# Signals

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


# Streams

_STREAMS = {1: "stdout", 2: "stderr"}


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
    before = {number: getattr(sys, name) for number, name in _STREAMS.items()}
    opened: list[io.TextIOWrapper] = []
    for number, name in _STREAMS.items():
        stream = before[number]
        if stream is None:
            _occupy(number)
        if stream is None or stream is getattr(sys, f"__{name}__"):
            opened.append(_opened(number, stream))
            setattr(sys, name, opened[-1])
    try:
        yield reasons
    finally:
        for stream in opened:
            stream.flush()
            raw = stream.buffer.raw  # type: ignore[attr-defined]
            if raw.lost and raw.lost.errno != errno.EPIPE and stream is sys.stdout:
                reasons.append(raw.lost)
        for number, name in _STREAMS.items():
            setattr(sys, name, before[number])


def _occupy(number: int) -> None:
    """Open a closed stream to nowhere: else the next file, say a database, gets its number."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    if nowhere != number:
        os.dup2(nowhere, number)
        os.close(nowhere)


def _opened(number: int, stream: Any) -> io.TextIOWrapper:
    if stream is not None:
        stream.flush()
    register()
    return io.TextIOWrapper(
        io.BufferedWriter(LossyFile(number, "w", closefd=False)),
        encoding=getattr(stream, "encoding", "utf-8"),
        errors=ERRORS,
        line_buffering=number == 2 or getattr(stream, "line_buffering", False),
    )


# Plain text

ERRORS = "instruction_counts.plain"
"""What writes something readable in place of characters that a terminal does not know.

It is the name for ``errors``, once `register` has been called.
"""

_PLAIN = {
    **dict(zip("…→±≤≥²³", ("...", "->", "+-", "<=", ">=", "^2", "^3"), strict=True)),
    **dict(zip("·×µμ•●○■□▲△◆◇", "|xuu**o#%^A@v", strict=True)),
    **dict.fromkeys("–—─━═╌╴╶╸╺", "-"),
    **dict.fromkeys("│┃║▍▎▏", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╯╰┏┓┗┛┡┩╇", "+"),
    **dict.fromkeys("█▉▊▋▌▐", "#"),
}


def register() -> None:
    """Make `ERRORS` known to Python."""
    codecs.register_error(ERRORS, _in_plain_text)


def _in_plain_text(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    plain = (_PLAIN.get(character) or ascii(character)[1:-1] for character in found)
    return "".join(plain), error.end
