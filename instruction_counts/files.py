"""Writing files so that nobody ever reads half of one."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Replace the file at ``path`` by ``text``; a reader sees the old or the new one, whole."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    # With the rights that the user's mask leaves, as for any file that a program writes.
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as stream:
            stream.write(text)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
