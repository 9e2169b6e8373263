"""The files that a specification wants the results of a run in, beside the database."""

from __future__ import annotations

import datetime as dt
import re
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from instruction_counts.domain.errors import UsageError

if TYPE_CHECKING:
    from instruction_counts.sources.specification.reading import Specification


def result_files(specification: Specification | None) -> tuple[Path, ...]:
    """A new file in each directory of the specification's reporters; the directories are made.

    Raises:
        UsageError: one cannot be made.
    """
    if specification is None:
        return ()
    words = re.sub(r"[^\w.-]+", "-", specification.name).strip("-.") or "run"
    moment = dt.datetime.now(dt.UTC).strftime("%Y%m%dT%H%M%SZ")
    name = f"{words}-{moment}-{secrets.token_hex(2)}.json"
    for folder in specification.reporters.directories:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"the folder {folder} cannot be made: {error.strerror}",
                "Name another one in the specification.",
            ) from error
    return tuple(folder / name for folder in specification.reporters.directories)
