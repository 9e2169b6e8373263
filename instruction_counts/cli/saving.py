"""Writing the files that options name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from instruction_counts.domain.errors import UsageError
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


def check_folder(option: str, path: Path) -> None:
    """Refuse a file that cannot be written, before anything is measured.

    Raises:
        UsageError: its folder is not there.
    """
    if not path.parent.is_dir():
        raise UsageError(f"{option} {path}: there is no folder {path.parent}", "Make it first.")
