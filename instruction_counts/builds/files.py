"""The files of a build: whether they are still those that were there at the start.

A statement can write into the installation of torch, and somebody can install another one while a
run goes on. A server that starts then measures other code.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TypeAlias

Files: TypeAlias = Mapping[str, tuple[int, int]]
"""By path: size in bytes, and time of the last change in nanoseconds."""

_SKIPPED = "__pycache__"
"""Python writes there whenever it imports."""


def files_in(folder: str) -> dict[str, tuple[int, int]]:
    """The files below ``folder``; empty where it cannot be read.

    Sizes and times suffice: reading all of torch would take seconds, this takes 0.1 s.
    """
    return dict(_walk(folder))


def changed(before: Files, after: Files) -> tuple[str, ...]:
    """The paths that were added, removed or written between two calls of `files_in`, sorted."""
    paths = before.keys() | after.keys()
    return tuple(sorted(path for path in paths if before.get(path) != after.get(path)))


def _walk(folder: str) -> Iterator[tuple[str, tuple[int, int]]]:
    try:
        entries = [*os.scandir(folder)]
    except OSError:
        return
    for entry in entries:
        if entry.is_dir(follow_symlinks=False):
            if entry.name != _SKIPPED:
                yield from _walk(entry.path)
            continue
        try:
            found = entry.stat(follow_symlinks=False)
        except OSError:  # removed meanwhile: it is missing, and that is what is said
            continue
        yield entry.path, (found.st_size, found.st_mtime_ns)
