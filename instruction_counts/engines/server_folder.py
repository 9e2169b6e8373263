"""The folder that a server and its children work in, which a case may delete."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path


class ServerFolder:
    """A folder at ``path`` with what ``fill`` puts there; it can be made again at the same place.

    ``restore`` makes the folders above it again, where they are gone, too. The place stays the same
    because its path is in the memory of counted processes.
    """

    def __init__(
        self,
        path: Path,
        fill: Callable[[Path], None] = lambda _: None,
        restore: Callable[[], None] = lambda: None,
    ) -> None:
        self.path, self._fill, self._restore = path, fill, restore
        self.times_made = 0
        self._make()

    @property
    def is_intact(self) -> bool:
        """Whether it is still there, with all that was put there."""
        try:
            same = self.path.stat().st_ino == self._inode
            return same and self._names <= {below.name for below in self.path.iterdir()}
        except OSError:
            return False

    def make_again(self) -> None:
        """Remove what is left of it, and make it as it was."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._restore()
        self._make()

    def _make(self) -> None:
        self.path.mkdir(mode=0o700, exist_ok=True)
        self._fill(self.path)
        self._inode = self.path.stat().st_ino
        self._names = {below.name for below in self.path.iterdir()}
        self.times_made += 1
