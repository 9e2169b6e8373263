"""Writing files so that nobody ever reads half of one, and knowing early that it cannot be done.

Also, what tells one state of a file from another.
"""

import contextlib
import fcntl
import os
import secrets
import shutil
import stat
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from filelock import FileLock

from instruction_counts.domain.errors import UsageError

_PATIENCE_S = 30.0
_GZIP = 16
"""Added to the size of the window, it makes zlib write gzip's format: with no time of its own."""


def write_atomically(path: Path, content: str | bytes | Iterable[str | bytes]) -> None:
    """Replace the file at ``path`` by ``content``; a reader sees the old or the new one, whole.

    What is large can come in parts, so that it is never in memory as a whole.
    """
    parts = [content] if isinstance(content, str | bytes) else content
    temporary, descriptor = _begin(path.parent, path.name)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            for part in parts:
                stream.write(part if isinstance(part, bytes) else part.encode())
        with contextlib.suppress(FileNotFoundError):
            shutil.copymode(path, temporary)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_output(path: Path, content: str | Iterable[str], option: str = "") -> None:
    """Replace a file that a user named with ``option``; its name says whether it is compressed.

    A link stays one, and a device or pipe is written to. The same content always gives the same
    bytes. What no file can hold, as half of a surrogate pair, is spelled out.

    Raises:
        UsageError: it cannot be written.
    """
    parts = [content] if isinstance(content, str) else content
    encoded = (part.encode(errors="backslashreplace") for part in parts)
    written = _compressed(encoded) if path.suffix == ".gz" else encoded
    try:
        if is_stream(path):
            with path.open("wb") as stream:
                stream.writelines(written)
        else:
            write_atomically(Path(os.path.realpath(path)), written)
    except OSError as error:
        raise unwritable(path, option, error) from error


def is_stream(path: Path) -> bool:
    """Whether there is a device or a pipe, of which a file must not take the place."""
    return path.exists() and not (path.is_file() or path.is_dir())


def _compressed(parts: Iterable[bytes]) -> Iterator[bytes]:
    compressor = zlib.compressobj(wbits=zlib.MAX_WBITS | _GZIP)
    for part in parts:
        yield compressor.compress(part)
    yield compressor.flush()


@contextlib.contextmanager
def locked(path: Path, patience_s: float = _PATIENCE_S) -> Iterator[None]:
    """Hold the lock of the file or folder at ``path``: of all who ask for it, one at a time has it.

    The system drops it when its holder ends, however it ends.

    Raises:
        TimeoutError: another process or thread kept it for ``patience_s``.
        OSError: its folder cannot be written.
    """
    # The lock file stays: removing it would let two processes hold "the" lock.
    lock = path.with_name(f".{path.name}.lock")
    lock.touch()  # FileLock would wait for the folder to become writable
    with FileLock(lock, timeout=patience_s, poll_interval=0.01):
        yield


@contextlib.contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Have the lock of a folder, which leaves no file there; who has it already is waited for.

    Where a folder cannot be locked, nobody waits.
    """
    with contextlib.ExitStack() as stack:
        with contextlib.suppress(OSError):
            descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, descriptor)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield


def text_of(path: Path) -> str:
    """The text of a file, as far as it is any, without its last line break.

    It is empty where the file cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8", errors="replace").rstrip("\n")
    except OSError:
        return ""


def check_writable(path: Path, option: str) -> None:
    """Try now what would otherwise fail only when all is measured; leaves nothing behind.

    Folders on the way to ``path`` may be missing. ``option`` is what the user wrote before it.

    Raises:
        UsageError: no file can be made there.
    """
    try:
        if is_stream(path):
            return
        target = Path(os.path.realpath(path))
        folder = next(parent for parent in target.parents if parent.exists())
        temporary, descriptor = _begin(folder, path.name)
        os.close(descriptor)
        temporary.unlink()
    except OSError as error:
        raise unwritable(path, option, error) from error


def unwritable(path: Path, option: str, error: OSError) -> UsageError:
    """The error for a ``path`` that cannot be written."""
    return UsageError(
        f"{option} {path} cannot be written: {error.strerror}".strip(),
        "Choose a file in a folder that you can write to.",
    )


def _begin(folder: Path, name: str) -> tuple[Path, int]:
    """An empty file beside the one called ``name``, and its descriptor."""
    temporary = folder / f".{name}.{secrets.token_hex(8)}"
    # With the rights that the user's mask leaves, as for any file that a program writes.
    return temporary, os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)


def states_of(paths: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Size and time of each file, by its path; what is none, or none any more, is left out."""
    states = {}
    for path in paths:
        with contextlib.suppress(OSError):
            found = os.stat(path)  # noqa: PTH116 - ten thousand times
            if stat.S_ISREG(found.st_mode):
                states[path] = found.st_size, found.st_mtime_ns
    return states
