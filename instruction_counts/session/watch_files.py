"""Where a watch keeps its state, unless a file is named."""

from __future__ import annotations

import hashlib
from pathlib import Path

from instruction_counts.system.folders import make_data_folder


def state_file_of(watched: str) -> Path:
    """The file for what is watched, in the user's data folder, which is made."""
    digest = hashlib.sha256(watched.encode()).hexdigest()[:12]
    return make_data_folder("--state") / f"watch-{digest}.json"
