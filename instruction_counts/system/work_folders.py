"""Private folders of one process, and the removal of those whose process was killed."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import shutil
import tempfile
from pathlib import Path

_PREFIX = "instruction-counts."
_FORM = re.compile(re.escape(_PREFIX) + "[a-z0-9_]{8}")


class WorkFolder:
    """A new private folder (0700), whose path has the same length on every machine.

    The dynamic loader and Python keep the working directory of a process in its memory, so that a
    longer path would shift what comes after it. TMPDIR therefore does not matter, as long as there
    is a /tmp to write to. A lock on the folder says that its process lives.
    """

    def __init__(self) -> None:
        self.path, self._descriptor = _made()

    def restore(self) -> None:
        """Make it again where somebody deleted it."""
        if not self.path.exists():
            self.path.mkdir(mode=0o700)
            os.close(self._descriptor)
            self._descriptor = _locked(self.path)

    def remove(self) -> None:
        """Remove it with all that is in it, unless that is done."""
        if self._descriptor >= 0:
            shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def sweep() -> None:
    """Remove the folders of this user that killed processes left behind."""
    for path in Path(root() or tempfile.gettempdir()).iterdir():
        if _FORM.fullmatch(path.name):
            with contextlib.suppress(OSError):  # it is in use, another user's, or gone by now
                _remove_abandoned(path)


def root() -> str | None:
    """Where private folders lie whatever TMPDIR says; None where that cannot be written to."""
    return "/tmp" if os.access("/tmp", os.W_OK | os.X_OK) else None  # noqa: S108 - private folders


def _made() -> tuple[Path, int]:
    while True:
        path = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root()))
        # Until it is locked, another process may sweep it.
        with contextlib.suppress(FileNotFoundError):
            return path, _locked(path)


def _locked(path: Path) -> int:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        with contextlib.suppress(OSError):  # where there are no locks, nobody sweeps
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        if not os.path.samestat(os.fstat(descriptor), path.stat()):
            raise FileNotFoundError(path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def _remove_abandoned(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        if os.fstat(descriptor).st_uid == os.getuid():
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(descriptor)
