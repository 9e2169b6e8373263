"""Where a watch keeps its state, unless a file is named."""

from __future__ import annotations

import contextlib
import hashlib
from pathlib import Path

from instruction_counts.system.folders import make_data_folder


def state_file_of(watched: str, first_name: str) -> Path:
    """The file for what is watched; one that an earlier version wrote of it is taken over."""
    folder = make_data_folder("--state")
    path, before = (
        folder / f"watch-{hashlib.sha256(one.encode()).hexdigest()[:12]}.json"
        for one in (watched, first_name)
    )
    if not path.exists():
        with contextlib.suppress(FileNotFoundError):
            before.rename(path)
    return path
