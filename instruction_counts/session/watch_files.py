"""Where a watch keeps its state, unless it is told."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from platformdirs import user_data_path

from instruction_counts.domain.errors import DataError


def state_file_of(watched: str, first_name: str) -> Path:
    """The file for what is watched; one that an earlier version wrote of it is taken over."""
    folder = user_data_path("instruction-counts")
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{folder} cannot be made: {error.strerror}", "Name --state.") from error
    path, before = (
        folder / f"watch-{hashlib.sha256(one.encode()).hexdigest()[:12]}.json"
        for one in (watched, first_name)
    )
    if not path.exists():
        with contextlib.suppress(FileNotFoundError):
            before.rename(path)
    return path
