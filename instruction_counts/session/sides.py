"""The sides that people name: builds, JSON files, and stored runs by their number or tag."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from instruction_counts.analysis.verdicts.sides import Side, side_of
from instruction_counts.builds.configured import parse_build
from instruction_counts.builds.lock_files import is_lock_file
from instruction_counts.core.types import CaseKey
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.records import LAST, Run
from instruction_counts.sources.definitions import Definitions, load
from instruction_counts.storage.json_files import is_file_name, read_json

if TYPE_CHECKING:  # it takes a fifth of the start of a command, and some store nothing
    from instruction_counts.storage.store import Store


class LazyStore:
    """The stored runs; their database is opened when the first of them is asked for."""

    def __init__(self, db: str | Path | None) -> None:
        self._db = db
        self._store: Store | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._store is not None:
            self._store.close()

    def existing(self, *, as_named: bool = True) -> Store | None:
        """The store; None where there is none, unless an option names it and that is to hold."""
        try:
            return self.opened(must_exist=True)
        except UsageError as error:
            if isinstance(error, DataError) or (as_named and self._db is not None):
                raise
            return None

    @property
    def option(self) -> tuple[str, ...]:
        """See `Store.option`; empty where none was opened."""
        return () if self._store is None else self._store.option

    def opened(self, *, must_exist: bool = False) -> Store:
        """The store itself; made where there is none, unless it must exist."""
        from instruction_counts.storage.store import Store  # noqa: PLC0415 - see the top

        if self._store is None:
            self._store = Store(self._db, must_exist=must_exist)
        return self._store


def named_sides(
    names: Sequence[str], builds: Sequence[Build], runs: LazyStore
) -> tuple[Side | Build, Side | Build]:
    """The two sides that one or two names say: a build to measure, or what was measured.

    A build is one of ``builds``, or an interpreter or virtual environment by its path.

    Raises:
        UsageError: one names nothing, or a run that has not the builds for it.
        DataError: a file or the database cannot be read.
    """
    known = {build.name: build for build in builds}
    found = [
        known.get(name) or _interpreter(name, role, runs)
        for name, role in zip(names, ("base", "new"), strict=False)
    ]
    if len(names) == 1:
        sides = read_sides(names, runs) if found[0] is None else ()
        if len(sides) == 2:
            return sides[0], sides[1]
        raise UsageError(
            f"{names[0]} has one build, and there is nothing to compare it with",
            "Name another one.",
        )
    what = "a build, an interpreter, a JSON file"
    return found[0] or read_side(names[0], runs, what), found[1] or read_side(names[1], runs, what)


def keys_of(sides: Iterable[Side | Build], definitions: Definitions) -> frozenset[CaseKey]:
    """All cases that were measured, and of a build all that can be."""
    by_side = [
        {case.key for case in load(definitions)} if isinstance(side, Build) else side.records
        for side in sides
    ]
    return frozenset[CaseKey]().union(*by_side)


def _interpreter(name: str, role: str, runs: LazyStore) -> Build | None:
    """The build at that path; None where nothing there can be started, as a result file."""
    path = Path(name).expanduser()
    if "/" in name.partition(":")[0] and ".json" not in name and not path.exists():
        raise UsageError(
            f"there is no interpreter, virtual environment or file {name}",
            "Correct the path. A build with a name needs an option: --build NAME=PYTHON",
        )
    is_folder = path.is_dir() and (path / "bin" / "python").exists()
    can_start = is_folder or (path.is_file() and (is_lock_file(name) or os.access(path, os.X_OK)))
    if can_start:
        _refuse_stored(name, runs)
    return parse_build(f"{role}={name}") if can_start else None


def _refuse_stored(name: str, runs: LazyStore) -> None:
    """Refuse a name in the working directory that a stored run has, too."""
    store = None if is_file_name(name) else runs.existing(as_named=False)
    number = None if store is None else store.find(name)
    if number is not None:
        raise UsageError(
            f"{name} is in the working directory, and names run {number}, too",
            f"Write ./{name}, or name the run by another tag or its number.",
        )


def read_sides(names: Sequence[str], runs: LazyStore) -> tuple[Side, ...]:
    """The sides of these names; of a single one that is a run of two builds, both.

    Raises:
        UsageError, DataError: as `read_side`.
    """
    if len(names) > 1:
        return tuple(read_side(name, runs) for name in names)
    sides = _sides(names[0], runs)
    return tuple(sides.values()) if len(sides) == 2 else (_only(names[0], sides),)


def read_side(text: str | Side, runs: LazyStore, what: str = "a JSON file") -> Side:
    """The side that ``text`` is, or names: a JSON file, or the number or tag of a stored run.

    Where the run has several builds, ``:NAME`` after it says which. ``what`` is what else it could
    have been, for messages.

    Records of a stored run come without their details: there can be any number of them.

    Raises:
        UsageError: there is no such file or run, or it has several builds and none is named.
        DataError: the file or the database cannot be read.
    """
    return text if isinstance(text, Side) else _only(text, _sides(text, runs, what))


def _sides(text: str, runs: LazyStore, what: str = "a JSON file") -> dict[str, Side]:
    """The builds of a run by their names, or the one that is named."""
    place, build = find_run(text, runs, what)
    run, run_id = load_run(place, runs), None if isinstance(place, Path) else place
    if build not in {None, *run.builds}:
        remedy = f"It has: {', '.join(run.builds)}"
        raise UsageError(f"{text}: the run has no build of that name", remedy)
    names = [*run.builds] if build is None else [build]
    title = _title(text, run_id)
    more = {name: f", {name}" if len(names) > 1 else "" for name in names}
    return {name: side_of(run, name, title + more[name], run_id) for name in names}


def _only(text: str, sides: Mapping[str, Side]) -> Side:
    if len(sides) != 1:
        remedy = f"Name one of them: {text}:{next(iter(sides), 'NAME')}"
        raise UsageError(f"{text} has several builds: {', '.join(sides)}", remedy)
    return next(iter(sides.values()))


def find_run(
    text: str, runs: LazyStore, what: str = "a JSON file"
) -> tuple[Path | int, str | None]:
    """The file or the number of the run that ``text`` names, and the build after a colon.

    Raises:
        UsageError: there is no such file or run.
    """
    # A file or tag may itself hold a colon, so the whole text is tried first.
    before, _, after = text.rpartition(":")
    names = [(name, build) for name, build in ((text, None), (before, after)) if name]
    for name, build in names:
        if Path(name).is_file():
            _refuse_stored(name, runs)
            return Path(name), build
    # Not looked for in the store, whose own absence would be reported instead. A build, behind the
    # colon, may be called like a path.
    for name, _ in names[-1:]:
        if is_file_name(name):
            kind = "folder without bin/python" if Path(name).is_dir() else "device or a pipe"
            is_there = Path(name).exists()
            problem = f"{name} is a {kind}, and no file" if is_there else f"there is no file {name}"
            raise UsageError(problem, "Write one:", "run --output FILE.json")
    store = runs.existing()
    for name, build in names:
        number = None if store is None else store.find(name)
        if number is not None:
            return number, build
    if text == LAST:
        raise UsageError("there is no last run: none is stored yet", "Store one:", "run")
    problem = f'"{text}" is neither {what} nor a stored run'
    again = shlex.join(["runs", "list", *runs.option])
    raise UsageError(problem, "Stored runs and their tags:", again)


def find_whole_run(text: str, runs: LazyStore) -> Path | int:
    """The file or the number of the run that ``text`` names, which can be no build of one.

    Raises:
        UsageError: there is no such file or run.
    """
    place, build = find_run(text, runs)
    if build is not None:
        raise UsageError(
            f"{text} is one build of a run", f"Name the run: {text.removesuffix(f':{build}')}"
        )
    return place


def stored_number(text: str, runs: LazyStore) -> int:
    """The number of the stored run that ``text`` names.

    Raises:
        UsageError: there is no such run, or it is a file.
    """
    place = find_whole_run(text, runs)
    if isinstance(place, Path):
        raise UsageError(f"{text} is a file, and not a stored run", "Store it:", "runs import FILE")
    return place


def load_run(place: Path | int, runs: LazyStore) -> Run:
    """The run at that place; a stored one without the details of its outcomes.

    Raises:
        DataError: the file or the database cannot be read.
    """
    if isinstance(place, Path):
        return read_json(place)
    return runs.opened(must_exist=True).load(place)


def _title(text: str, run_id: int | None) -> str:
    name, _, build = text.partition(":")
    if run_id is not None and name in {str(run_id), LAST}:
        return f"run {run_id}{f', {build}' if build else ''}"
    return Path(text).name
