"""Writing files so that nobody ever reads half of one, or loses what another one wrote."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

from filelock import FileLock

_PATIENCE_S = 30.0


def write_atomically(path: Path, content: str | bytes | Iterable[str | bytes]) -> None:
    """Replace the file at ``path`` by ``content``; a reader sees the old or the new one, whole.

    What is large can come in parts, so that it is never in memory as a whole.
    """
    parts = [content] if isinstance(content, str | bytes) else content
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    # With the rights that the user's mask leaves, as for any file that a program writes.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            for part in parts:
                stream.write(part if isinstance(part, bytes) else part.encode())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


@contextlib.contextmanager
def locked(path: Path, patience_s: float = _PATIENCE_S) -> Iterator[None]:
    """Nobody else who asks for the file at ``path`` has it meanwhile: it can be read and replaced.

    Raises:
        OSError: its folder cannot be written, or another one kept it for ``patience_s``.
    """
    # The lock file stays: removing it would let two processes hold "the" lock.
    lock = path.with_name(f".{path.name}.lock")
    lock.touch()  # FileLock would wait for the folder to become writable
    with FileLock(lock, timeout=patience_s, poll_interval=0.01):
        yield
