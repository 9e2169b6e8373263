"""Folders of this program: marked when they are made, so that no other one is taken for ours.

What lies in them is executed or trusted later, and some of it is deleted again. So a folder that
another user could change, or that holds what this program did not put there, is refused.
"""

import contextlib
import fcntl
import itertools
import os
import re
import shutil
import stat
import tempfile
from pathlib import Path

from platformdirs import user_cache_path, user_data_path

from instruction_counts.domain.errors import UsageError

RUNTIME_VARIABLE = "INSTRUCTION_COUNTS_RUNTIME"
"""Names another folder in which processes know of each other."""

_NAME = "instruction-counts"
_WORK_PREFIX = "instruction-counts."
_WORK_FOLDER = re.compile(re.escape(_WORK_PREFIX) + "[a-z0-9_]{8}")
_MARK = ".instruction-counts"
_MARK_TEXT = b"A folder of instruction-counts, format 1.\n"


def default_cache() -> Path:
    """Where the cache is unless something else is said."""
    return user_cache_path(_NAME)


def data_folder() -> Path:
    """Where runs, noise floors and the state of watches are kept; it need not be there."""
    return user_data_path(_NAME)


def make_data_folder(option: str) -> Path:
    """`data_folder`, made where it is missing; a file elsewhere can be named with ``option``.

    Raises:
        UsageError: it cannot be made, or is not ours.
    """
    path = data_folder()
    take(path, f"Choose another file with {option}, or set XDG_DATA_HOME.")
    return path


def make_runtime_folder() -> Path:
    """The folder by which all processes of this user that run now know of each other.

    Raises:
        UsageError: it cannot be made, or is not ours.
    """
    path = _runtime_folder()
    take(path, f"Set {RUNTIME_VARIABLE} to a folder of your own.")
    return path


def _runtime_folder() -> Path:
    named = os.environ.get(RUNTIME_VARIABLE)
    if named:
        return Path(named).absolute()
    # The one in /run ends with the session of a user, and a run under nohup does not. Directly in
    # /tmp nobody else can move or replace it.
    return Path(_root()) / f"{_NAME}-{os.getuid()}"


def take(path: Path, remedy: str, *, is_cache: bool = False) -> None:
    """Make the folder at ``path``, or see that the one there is ours; its mode is left as it is.

    Raises:
        UsageError: it cannot be made, another user owns it or can write to it, or it is somebody
            else's. The error ends with ``remedy``.
    """
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check(path, remedy)
        # Data that are only read may lie where nothing can be written.
        with contextlib.nullcontext() if is_cache else contextlib.suppress(OSError):
            if not (path / _MARK).exists():
                # Never shorter than before: of several processes that begin at once, each sees it.
                flags = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW
                with os.fdopen(os.open(path / _MARK, flags, 0o600), "wb") as stream:
                    stream.write(_MARK_TEXT)
    except OSError as error:
        raise UsageError(
            f"the folder {path} cannot be created: {error.strerror}", remedy
        ) from error


def _check(path: Path, remedy: str) -> None:
    status = path.stat()
    if {status.st_uid, path.lstat().st_uid} != {os.getuid()}:
        raise UsageError(f"the folder {path} belongs to another user", remedy)
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UsageError(f"other users can write to the folder {path}", f"chmod go-w {path}")
    # Nobody else calls a folder so; a link of that name may lead anywhere.
    is_named_so = (
        path in {default_cache(), data_folder(), _runtime_folder()} and not path.is_symlink()
    )
    is_new = all(below.name == _MARK for below in path.iterdir())
    mark = path / _MARK
    is_marked = mark.is_file() and mark.read_bytes() == _MARK_TEXT
    if not (is_new or is_named_so or is_marked):
        raise UsageError(
            f"the folder {path} is not empty, and was not made by instruction-counts", remedy
        )


# Private folders of one process, which are removed also where it was killed


class WorkFolder:
    """A new private folder (0700), whose path has the same length on every machine.

    The dynamic loader and Python keep the working directory of a process in its memory, so that a
    longer path would shift what comes after it. TMPDIR therefore does not matter, as long as there
    is a /tmp to write to. A name by chance would move what hashes it, as Dynamo's sets of files do:
    it is the first that is free. A lock on the folder says that its process lives.
    """

    def __init__(self, root: Path | None = None) -> None:
        for number in itertools.count():
            self.path = (root or _root_of_work()) / f"{_WORK_PREFIX}{number:08}"
            with contextlib.suppress(FileExistsError):
                self.path.mkdir(mode=0o700)
                # Until it is locked, another process may sweep it, and a third one take the name.
                with contextlib.suppress(FileNotFoundError, BlockingIOError):
                    self._descriptor = _locked(self.path)
                    return

    def remove(self) -> None:
        """Remove it with all that is in it, unless that is done."""
        if self._descriptor >= 0:
            if _is_at(self._descriptor, self.path):
                shutil.rmtree(self.path, ignore_errors=True)
            os.close(self._descriptor)
            self._descriptor = -1

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()


def sweep() -> None:
    """Remove the folders of this user that killed processes left behind."""
    for path in _root_of_work().iterdir():
        if not _WORK_FOLDER.fullmatch(path.name):
            continue
        with contextlib.suppress(OSError):  # it is in use, another user's, or gone by now
            descriptor = _opened(path)
            try:
                if os.fstat(descriptor).st_uid == os.getuid():
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    if _is_at(descriptor, path):  # and no new one of that name
                        shutil.rmtree(path, ignore_errors=True)
            finally:
                os.close(descriptor)


def _root() -> str:
    """Where private folders lie: whatever TMPDIR says, /tmp, if that can be written to."""
    is_usable = os.access("/tmp", os.W_OK | os.X_OK)  # noqa: S108 - private folders
    return "/tmp" if is_usable else tempfile.gettempdir()  # noqa: S108


def _root_of_work() -> Path:
    """The same for those from which libraries are loaded."""
    for folder in (_root(), tempfile.gettempdir()):
        if not os.statvfs(folder).f_flag & os.ST_NOEXEC:
            return Path(folder)
    problem = f"no library can be loaded from {folder}: it is mounted noexec"
    raise UsageError(problem, "Set TMPDIR to a folder where that is allowed.")


def _locked(path: Path) -> int:
    descriptor = _opened(path)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise
    except OSError:  # where there are no locks, nobody sweeps
        pass
    if not _is_at(descriptor, path):
        os.close(descriptor)
        raise FileNotFoundError(path)
    return descriptor


def _is_at(descriptor: int, path: Path) -> bool:
    """Whether the folder that was opened is the one that is called so now."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.lstat())
    return False


def _opened(folder: Path) -> int:
    return os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
