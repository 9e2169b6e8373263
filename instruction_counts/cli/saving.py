"""Writing the files that options name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from instruction_counts.system.files import unwritable, write_atomically


def save(option: str, path: Path, content: str | bytes | Iterable[str | bytes]) -> Path:
    """Write ``content``, whole, to the file that ``option`` names; returns its path.

    Raises:
        UsageError: it cannot be written.
    """
    try:
        write_atomically(path, content)
    except OSError as error:
        raise unwritable(path, option, error) from error
    return path
