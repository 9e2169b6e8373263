"""The cache folder: what is expensive to make, kept under the content that it was made from.

An entry is a folder ``<root>/<kind>/<key>``. It is made in a folder beside it and then renamed, so
that it is there entirely or not at all; one of which something was lost is made again. Of
several processes that want the same entry one makes it while the others wait, on a file lock that
the system drops when its holder ends, however it ends.
"""

import contextlib
import hashlib
import json
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path

from instruction_counts.system.files import locked, states_of
from instruction_counts.system.folders import default_cache, take

VARIABLE = "INSTRUCTION_COUNTS_CACHE"
DEFAULT_LIMIT_BYTES = 10 << 30
ENVIRONMENTS = "environments"
"""The kind of entries that processes go on to load files from."""
_IN_USE_NS = 3_600 * 10**9
"""For so long after its last use, an environment may still be in use."""
_POLL_S = 0.1
_READ_BYTES = 4 << 20
"""Of a larger entry the size alone tells that it is whole."""
_MADE_FROM = "made-from.json"
"""In an entry: the size and time of each file that decides whether it can still be of use."""


def cache_root(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's cache folder, or the one that INSTRUCTION_COUNTS_CACHE names."""
    named = environ.get(VARIABLE, "")
    return Path(named).absolute() if named else default_cache()


def key_of(*parts: str) -> str:
    """The key of an entry that is made from ``parts`` and nothing else."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode(errors="surrogateescape")
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()[:32]


def note_sources(folder: Path, paths: Iterable[str]) -> None:
    """Note in the folder of an entry the files that it was made from; what is none is left out."""
    (folder / _MADE_FROM).write_text(json.dumps(states_of(paths)), encoding="utf-8")


def has_its_sources(entry: Path) -> bool:
    """Whether the files that were noted of an entry are what they were; not if none ever were."""
    try:
        states = json.loads((entry / _MADE_FROM).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False  # a damaged entry is made again
    return states_of(states) == {path: (*state,) for path, state in states.items()}


class Cache:
    """A folder of entries; for several threads and processes at once.

    Above ``limit_bytes`` entries are removed, but never the last one, nor environments that were
    used within the hour: first those whose sources are gone (see `note_sources`), then the least
    recently used.

    Raises:
        UsageError: the folder cannot be made, or is not ours: code in it would run.
    """

    def __init__(self, root: Path | None = None, limit_bytes: int = DEFAULT_LIMIT_BYTES) -> None:
        self.root = cache_root() if root is None else root.absolute()
        self._limit_bytes = limit_bytes
        take(self.root, f"Set {VARIABLE} to an empty folder that you own.", is_cache=True)

    def find(
        self, kind: str, key: str, is_current: Callable[[Path], bool] = lambda _: True
    ) -> Path | None:
        """The entry if it is there, whole and current, marked as used now."""
        path = self.root / kind / key
        with contextlib.suppress(OSError):  # removed by another process just now
            is_whole = _seal_file(path).read_bytes() == _seal_of(path)
            if path.is_dir() and is_whole and is_current(path):
                os.utime(path)
                return path
        return None

    def entry(
        self,
        kind: str,
        key: str,
        build: Callable[[Path], None],
        *,
        is_current: Callable[[Path], bool] = lambda _: True,
        while_waiting: Callable[[], None] = lambda: None,
    ) -> Path:
        """The entry; where it is missing, ``build`` fills an empty folder that becomes it.

        What ``build`` raises is passed on, and nothing is kept. ``while_waiting`` is called again
        and again while another process or thread makes the same entry; it may raise.
        """
        if found := self.find(kind, key, is_current):
            return found
        with self._locked(kind, key, while_waiting):
            if found := self.find(kind, key, is_current):
                return found
            path = self._make(kind, key, build)
        self._trim()
        return path

    def sizes(self) -> dict[str, list[int]]:
        """The bytes of each entry, by kind."""
        return {kind: [*map(_bytes_in, self._entries(kind))] for kind in self._kinds()}

    def clear(self) -> None:
        """Remove all entries."""
        for kind in self._kinds():
            self._sweep(kind)
            for path in self._entries(kind):
                self._remove(path)

    def _make(self, kind: str, key: str, build: Callable[[Path], None]) -> Path:
        path = self.root / kind / key
        folder = self.root / kind / f".new-{key}"
        shutil.rmtree(folder, ignore_errors=True)  # of a process that was killed
        folder.mkdir()
        try:
            build(folder)
            self._remove(path)  # there, but no longer current
            _seal_file(path).write_bytes(_seal_of(folder))
            folder.replace(path)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        return path

    @contextlib.contextmanager
    def _locked(self, kind: str, key: str, while_waiting: Callable[[], None]) -> Iterator[None]:
        folder = self.root / kind
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.ExitStack() as stack:
            while True:
                while_waiting()
                with contextlib.suppress(TimeoutError):
                    stack.enter_context(locked(folder / key, _POLL_S))
                    break
            yield

    def _trim(self) -> None:
        entries: list[tuple[bool, int, int, Path]] = []
        for kind in self._kinds():
            self._sweep(kind)
            for path in self._entries(kind):
                with contextlib.suppress(OSError):  # removed by another process just now
                    used_ns = path.stat().st_mtime_ns
                    can_be_of_use = has_its_sources(path) or not (path / _MADE_FROM).exists()
                    entries.append((can_be_of_use, used_ns, _size_of(path), path))
        excess = sum(size for _, _, size, _ in entries) - self._limit_bytes
        since_ns = time.time_ns() - _IN_USE_NS
        for _, used_ns, size, path in sorted(entries)[:-1]:
            if excess > 0 and not (path.parent.name == ENVIRONMENTS and used_ns > since_ns):
                self._remove(path)
                excess -= size

    def _sweep(self, kind: str) -> None:
        # What killed processes left behind: nobody holds the lock of such a folder.
        for folder in (self.root / kind).glob(".*-*"):
            entry = folder.with_name(folder.name.split("-")[1])
            with contextlib.suppress(TimeoutError):
                if _is_ours(folder, entry.name):
                    with locked(entry, patience_s=0):
                        shutil.rmtree(folder, ignore_errors=True)

    def _remove(self, path: Path) -> None:
        # Renamed first, so that nobody finds half of an entry.
        hidden = path.with_name(f".old-{path.name}-{os.getpid()}")
        with contextlib.suppress(OSError):
            path.replace(hidden)
        _seal_file(path).unlink(missing_ok=True)
        shutil.rmtree(hidden, ignore_errors=True)

    def _kinds(self) -> tuple[str, ...]:
        folders = (path for path in self.root.iterdir() if path.is_dir() and not path.is_symlink())
        return tuple(sorted(path.name for path in folders if not path.name.startswith(".")))

    def _entries(self, kind: str) -> list[Path]:
        found = sorted((self.root / kind).glob("[!.]*"))
        return [path for path in found if _is_ours(path, path.name)]


def _is_ours(path: Path, key: str) -> bool:
    """Whether this is an entry, or a part of one: each was made under its lock, which stays."""
    lock = path.with_name(f".{key}.lock")
    return path.is_dir() and not path.is_symlink() and lock.is_file()


def _bytes_in(path: Path) -> int:
    return sum(file.lstat().st_size for file in path.rglob("*") if file.is_file())


def _size_of(path: Path) -> int:
    """The bytes of an entry, without a look at each of its files where it says how many it has."""
    try:
        return int(_seal_file(path).read_bytes().split()[0])
    except (OSError, ValueError, IndexError):
        return _bytes_in(path)


def _seal_file(path: Path) -> Path:
    """Says what an entry was when it was made: one of which something was lost since is none."""
    return path.with_name(f".{path.name}.bytes")


def _seal_of(path: Path) -> bytes:
    """The bytes of an entry, and a digest of them where reading them takes no time."""
    size = _bytes_in(path)
    if size > _READ_BYTES:
        return b"%d" % size
    files = sorted(file for file in path.rglob("*") if file.is_file() and not file.is_symlink())
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files))
    return b"%d %s" % (size, digest.hexdigest().encode())
