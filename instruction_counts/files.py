"""Writing files so that nobody ever reads half of one."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterable
from pathlib import Path


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
