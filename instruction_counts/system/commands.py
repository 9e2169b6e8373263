"""Running other programs to their end."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def called(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """What came of a command that reads nothing; bytes that it prints and are no text, replaced.

    ``options`` are those of `subprocess.run`, which says what is raised.
    """
    pipe: dict[str, Any] = dict.fromkeys(("stdout", "stderr"), subprocess.PIPE)
    usual = {**pipe, "stdin": subprocess.DEVNULL, "errors": "replace"}
    return subprocess.run(command, text=True, check=False, **{**usual, **options})
