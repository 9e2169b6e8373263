"""Writing the files that options name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from instruction_counts.errors import UsageError
from instruction_counts.files import write_atomically


def save(option: str, path: Path, content: str | bytes | Iterable[str | bytes]) -> Path:
    """Write ``content``, whole, to the file that ``option`` names; returns its path.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        write_atomically(path, content)
    except OSError as error:
        raise UsageError(
            f"{option} {path} cannot be written: {error.strerror}",
            "Name a file in a folder that you may write to.",
        ) from error
    return path
