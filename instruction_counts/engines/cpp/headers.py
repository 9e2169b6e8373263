"""Torch's headers by their content: builds that have the same share what is compiled with them.

A copy of an environment, or a torch of which only sources were edited and built anew, has its
headers at another path and with other times. So a compiler finds them through links in the cache,
in a folder that is named by what they contain.
"""

import hashlib
import itertools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from instruction_counts.builds.files import digest_of, files_below
from instruction_counts.system.cache import Cache, key_of
from instruction_counts.system.files import states_of

HEADERS = "headers"
_CONTENT = "content"
_SUFFIXES = {"", ".h", ".hh", ".hpp", ".hxx", ".inc", ".inl", ".ipp", ".tcc", ".cuh"}


def shared_paths(cache: Cache, paths: Sequence[str]) -> tuple[str, ...]:
    """Links to ``paths``, or to what the first build had that has the same headers there.

    Raises:
        OSError: a header cannot be read, or the cache cannot be written to.
    """
    if not paths:
        return ()
    content = _content_of(cache, paths)

    def build(folder: Path) -> None:
        for place, path in enumerate(paths):
            (folder / str(place)).symlink_to(path)

    def is_current(folder: Path) -> bool:
        targets = [str((folder / str(place)).readlink()) for place in range(len(paths))]
        return _content_of(cache, targets) == content

    # A cache may keep its headers elsewhere, and compilers are told where.
    folder = cache.entry(HEADERS, content, build, is_current=is_current).resolve()
    return tuple(str(folder / str(place)) for place in range(len(paths)))


def headers_digest(include_paths: Sequence[str]) -> str:
    """Changes when a header below ``include_paths`` does: their names, sizes and times."""
    return digest_of(states_of(itertools.chain.from_iterable(map(files_below, include_paths))))


def header_names(search_path: str) -> Iterator[str]:
    """The paths of what may be headers, below the folders of a variable such as CPATH."""
    for folder in filter(None, search_path.split(os.pathsep)):
        for path in files_below(folder):
            suffix = os.path.splitext(path)[1]  # noqa: PTH122 - maybe thousands
            if suffix in _SUFFIXES and f"{os.sep}." not in path[len(folder) :]:
                yield path


def _content_of(cache: Cache, paths: Sequence[str]) -> str:
    """A digest of the names and the content of the headers; read once as long as none changes."""

    def build(folder: Path) -> None:
        digest = hashlib.sha256()
        for top in paths:
            for path in files_below(top):
                name, text = os.path.relpath(path, top), Path(path).read_bytes()
                digest.update(f"{name}\0{len(text)}\n".encode() + text)
        (folder / _CONTENT).write_text(digest.hexdigest()[:32], encoding="ascii")

    entry = cache.entry(HEADERS, key_of(_CONTENT, headers_digest(paths)), build)
    return (entry / _CONTENT).read_text(encoding="ascii")
