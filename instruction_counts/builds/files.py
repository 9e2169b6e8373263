"""The files of a build: whether they are still those that were there at the start.

A statement can write into the installation of torch, and somebody can install another one while a
run goes on. A server that starts then measures other code.
"""

import contextlib
import datetime as dt
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TypeAlias

from instruction_counts.system.cache import key_of
from instruction_counts.system.files import states_of

Files: TypeAlias = Mapping[str, tuple[int, int]]
"""By path: size in bytes, and time of the last change in nanoseconds."""

_SKIPPED = "__pycache__"
"""Python writes there whenever it imports."""

_NAME = (0, 0)
"""In place of size and time, of what is watched by its name alone."""
_LIBRARIES = ("libtorch*.so*", "libc10*.so*")
"""What distributions put beside the libraries of others."""


def files_of(
    interpreter: str, root: str, library_paths: Iterable[str], searched: Iterable[str] = ()
) -> Files:
    """The interpreter, all below the folder ``root``, and torch's libraries elsewhere.

    Also, in folders that are ``searched`` for modules, what says where others are (a checkout that
    was installed as editable), and the names of those that are there: one that is new may come
    before another, or be what was missing.

    Sizes and times suffice: reading all of torch would take seconds, this takes 0.1 s.
    """
    elsewhere = (Path(path) for path in library_paths if not Path(path).is_relative_to(root))
    libraries = (
        str(path) for folder in elsewhere for pattern in _LIBRARIES for path in folder.glob(pattern)
    )
    folders = [*searched]
    named = (str(path) for folder in folders for path in Path(folder).glob("*.pth"))
    paths = (interpreter, *files_below(root), *libraries, *named)
    names = dict.fromkeys((name for folder in folders for name in _modules_in(folder)), _NAME)
    return {**names, **states_of(paths)}


def _modules_in(folder: str) -> Iterator[str]:
    """The paths of modules and packages that can be imported from there."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            package = os.path.join(entry.path, "__init__.py")  # noqa: PTH118 - hundreds
            if entry.name.endswith((".py", ".so")) or os.path.exists(package):  # noqa: PTH110
                yield entry.path


def digest_of(files: Files) -> str:
    """What tells files from others, by their paths, sizes and times."""
    return key_of(repr(sorted(files.items())))


def changed(before: Files, after: Files) -> tuple[str, ...]:
    """The paths that were added, removed or written between two looks, sorted; no mere names."""
    both = {path: (before.get(path), after.get(path)) for path in before.keys() | after.keys()}
    return tuple(
        sorted(path for path, (old, new) in both.items() if old != new and _NAME not in (old, new))
    )


def written_after(files: Files, moment: str) -> tuple[str, ...]:
    """The paths of what was written after a second, sorted; in UTC, ISO 8601."""

    def second(time_ns: int) -> str:
        return dt.datetime.fromtimestamp(time_ns // 10**9, dt.UTC).isoformat(timespec="seconds")

    return tuple(sorted(path for path, (_, at) in files.items() if second(at) > moment))


def files_below(folder: str) -> Iterator[str]:
    """The paths of all files, sorted in each folder."""
    for parent, folders, names in os.walk(folder):
        folders[:] = sorted({*folders} - {_SKIPPED})
        for name in sorted(names):
            yield os.path.join(parent, name)  # noqa: PTH118 - ten thousand times
