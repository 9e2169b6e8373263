"""Output that may be lost: a reader that has gone away never changes what a command does.

Neither does one that knows only ASCII.
"""

from __future__ import annotations

import codecs
import errno
import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

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


@contextmanager
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


# ------------------------------------------------------------------------- in plain text

ERRORS = "instruction_counts.plain"
"""What writes something readable in place of characters that a terminal does not know.

It is the name for ``errors``, once `register` has been called.
"""

_PLAIN = {
    "…": "...",
    "·": "|",
    "→": "->",
    "–": "-",
    "—": "-",
    "±": "+-",
    "×": "x",
    "²": "^2",
    "³": "^3",
    "µ": "u",
    "μ": "u",
    "≤": "<=",
    "≥": ">=",
    # Marks and bars of plots and tables
    "•": "*",
    "●": "*",
    "○": "o",
    "■": "#",
    "□": "%",
    "▲": "^",
    "△": "A",
    "◆": "@",
    "◇": "v",
    **dict.fromkeys("─━═╌╴╶╸╺", "-"),
    **dict.fromkeys("│┃║", "|"),
    **dict.fromkeys("┌┐└┘├┤┬┴┼╭╮╯╰┏┓┗┛┡┩╇", "+"),
    **dict.fromkeys("█▉▊▋▌▐", "#"),
    **dict.fromkeys("▍▎▏", "|"),
}


def register() -> None:
    """Make `ERRORS` known to Python."""
    codecs.register_error(ERRORS, _in_plain_text)


def _in_plain_text(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    found = error.object[error.start : error.end]
    return "".join(
        _PLAIN.get(character) or ascii(character)[1:-1] for character in found
    ), error.end
