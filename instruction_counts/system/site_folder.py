"""A folder with the files of a site, and a manifest of which are ours and what each was made of.

Whatever else lies in the folder stays as it is. The manifest names every file before it is written:
after an interruption, a file is known for ours, and is made again.
"""

import contextlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.reading.structure import read_as, require_version, strict_converter
from instruction_counts.system.files import locked, unwritable, write_output

MANIFEST = "instruction-counts.json"
_VERSION = 1
"""Of the manifest: 1, the first."""
_NAME = re.compile(r"([a-z]+/)?[a-z0-9][a-z0-9-]*\.[a-z]+")
"""What files of a site are called: a manifest from elsewhere must not lead out of the folder."""
_REMEDY = "Choose an empty folder, or one that was published to before."


File: TypeAlias = tuple[str, str, Callable[[], str | Iterable[str]]]
"""Its path below the folder, what it is made of (if that is the same, so is the content), and what
makes it."""


@attrs.frozen
class _Manifest:
    files: dict[str, str] = attrs.field(factory=dict)
    """What each file was made of; empty until it is written."""
    remembered: dict[str, Any] = attrs.field(factory=dict)
    """What was costly to find."""


_CONVERTER = strict_converter()
require_version(_CONVERTER, _Manifest, "version", _VERSION)


@attrs.frozen
class Changes:
    """What an update did."""

    written: int
    removed: int
    files: int
    """How many there are now."""


def check_site_folder(path: Path) -> None:
    """Refuse what is neither missing, empty nor a site; hidden files, as ``.git``, do not count.

    Raises:
        UsageError: it is something else.
        DataError: its manifest cannot be read.
    """
    _read(path)


@contextlib.contextmanager
def site_folder(path: Path) -> "Iterator[SiteFolder]":
    """The folder, made where it is missing; of all processes, one at a time has it.

    Raises:
        UsageError: it holds something else, or cannot be written, or another process has it.
        DataError: its manifest cannot be read.
    """
    check_site_folder(path)
    with contextlib.ExitStack() as stack:
        with _writing(path):
            path.mkdir(parents=True, exist_ok=True)
            try:
                stack.enter_context(locked(path / MANIFEST, patience_s=0))
            except TimeoutError as error:
                problem = f"another process is publishing to {path}"
                raise UsageError(problem, "Try later.") from error
        yield SiteFolder(path, _read(path))


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise unwritable(path, "", error) from error


def _read(path: Path) -> _Manifest:
    file = path / MANIFEST
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path} is not a folder", _REMEDY)
    if not file.exists():
        visible = sorted(entry.name for entry in path.glob("[!.]*"))
        if visible:
            raise UsageError(f"{path} contains other files, such as {visible[0]}", _REMEDY)
        return _Manifest()
    remedy = "Delete the folder, and publish again."
    found = read_as(file, _Manifest, _CONVERTER, remedy, as_json=True)
    for name in found.files:
        if not _NAME.fullmatch(name):
            raise DataError(f"{file}: {name!r} is not the name of a file of a site", remedy)
    return found


class SiteFolder:
    """A folder that becomes what is published."""

    def __init__(self, path: Path, manifest: _Manifest) -> None:
        self._path, self._known = path, manifest.remembered
        self._files = dict(manifest.files)
        self._remembered: dict[str, Any] = {}

    def remembered(self, name: str, make: Callable[[], Any]) -> Any:
        """The plain value that the last update had by that name, or what ``make`` finds."""
        if name not in self._remembered:
            self._remembered[name] = self._known[name] if name in self._known else make()
        return self._remembered[name]

    def keep(self, name: str, value: Any) -> None:
        """Remember a plain value by a name."""
        self._remembered[name] = value

    def update(self, names: frozenset[str], files: Iterable[File]) -> Changes:
        """Write those of ``files`` that changed, and remove those of ours that are not among them.

        ``names`` are those of all ``files``.

        Raises:
            UsageError: a file of one of these names is not ours, or one cannot be written.
        """
        self._check(names)
        self._files = {**dict.fromkeys(names, ""), **self._files}
        self._save(self._known)
        try:
            written = sum(self._put(*file) for file in files)
            gone = self._files.keys() - names
            for name in gone:
                self._remove(name)
        except BaseException:
            self._save({**self._known, **self._remembered})
            raise
        self._save(self._remembered)
        return Changes(written, len(gone), len(self._files))

    def _check(self, names: frozenset[str]) -> None:
        foreign = [
            name for name in names - self._files.keys() if os.path.lexists(self._path / name)
        ]
        folders = {str(Path(name).parent) for name in names} - {"."}
        foreign += [folder for folder in folders if (self._path / folder).is_symlink()]
        if foreign:
            raise UsageError(
                f"{self._path / min(foreign)} is not a file of the site, and has its name",
                "Move it away.",
            )

    def _put(self, name: str, made_of: str, make: Callable[[], Any]) -> bool:
        path = self._path / name
        if self._files[name] == made_of and path.is_file():
            return False
        self._files[name] = ""
        with _writing(path):
            path.parent.mkdir(exist_ok=True)
        write_output(path, make())
        self._files[name] = made_of
        return True

    def _remove(self, name: str) -> None:
        path = self._path / name
        with _writing(path):
            path.unlink(missing_ok=True)
        del self._files[name]
        if path.parent != self._path:
            with contextlib.suppress(OSError):  # others are in it
                path.parent.rmdir()

    def _save(self, remembered: dict[str, Any]) -> None:
        document = {"version": _VERSION, "files": self._files, "remembered": remembered}
        write_output(self._path / MANIFEST, json.dumps(document, indent=0) + "\n")
