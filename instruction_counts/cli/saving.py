"""Writing the files that options name."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from instruction_counts.domain.errors import UsageError
from instruction_counts.system.files import check_writable, unwritable, write_atomically


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


def check_results_writable(files: Iterable[Path], callgrind_out: Path | None) -> None:
    """Refuse files of results that cannot be written, before anything is measured.

    Raises:
        UsageError: one cannot be written.
    """
    for path in files:
        check_writable(path, "--output")
    if callgrind_out is not None:
        check_writable(callgrind_out / "callgrind.out", "--callgrind-out")
