"""How far a watch got, in a file between its runs. Format history: 1, the first."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import attrs

from instruction_counts.core.types import CaseKey
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.reading.structure import read_as, require_version, strict_converter
from instruction_counts.system.files import locked, write_atomically
from instruction_counts.system.folders import make_data_folder

_VERSION = 1


@attrs.frozen
class FoundStep:
    """One step of one case; plain values, for those who receive it."""

    id: str
    """The same for the same step, however often it is reported."""
    case: str
    base: str
    """The build before the step, as it was listed."""
    new: str
    verdict: str
    reason: str
    base_count: int | None
    new_count: int | None
    change: int | None
    run: str
    """Where it was measured: ``run 12, NAME``."""
    verified: bool
    causes: tuple[str, ...] = ()


@attrs.frozen
class SeenBuild:
    """A build that later ones are compared with."""

    line: str
    """As it was listed."""
    name: str
    python: str
    run_id: int


@attrs.frozen
class Base:
    """The cases whose last count is that of a build."""

    build: SeenBuild
    cases: tuple[CaseKey, ...]


@attrs.frozen
class State:
    """How far a watch got."""

    watched: str
    """What is watched: another command, selection or database needs a file of its own."""
    seen: tuple[str, ...] = ()
    """The builds that were looked at, also broken ones."""
    bases: tuple[Base, ...] = ()
    """What the next build is compared with, the oldest first; each case is in one of them."""
    unreported: tuple[FoundStep, ...] = ()
    """Steps that were found and not reported yet."""


@attrs.frozen
class _File:
    version: int
    state: State


_CONVERTER = strict_converter()
require_version(_CONVERTER, _File, "version", _VERSION)


def state_file_of(watched: str) -> Path:
    """The file for what is watched, in the user's data folder, which is made."""
    digest = hashlib.sha256(watched.encode()).hexdigest()[:12]
    return make_data_folder("--state") / f"watch-{digest}.json"


@contextlib.contextmanager
def held(path: Path) -> Iterator[None]:
    """Keep others from the state in a file meanwhile; a process that dies lets go of it.

    Raises:
        UsageError: another watch has it.
        DataError: nothing can be written there.
    """
    with contextlib.ExitStack() as stack:
        with _named_errors(path):
            try:
                stack.enter_context(locked(path, patience_s=0))
            except TimeoutError as error:
                raise UsageError(
                    f"another watch is using {path}",
                    "Wait until it ends, or choose another file with --state.",
                ) from error
        yield


def read_state(path: Path, watched: str) -> State:
    """The state in a file; a fresh one where there is none.

    Raises:
        DataError: the file holds something else, or another watch's state.
    """
    remedy = "Choose another file with --state, or delete it to start over."
    if not path.exists():
        return State(watched)
    state = read_as(path, _File, _CONVERTER, remedy, as_json=True).state
    if state.watched != watched:
        raise DataError(f"{path} belongs to another watch: {state.watched}", remedy)
    return state


def write_state(path: Path, state: State) -> None:
    """Replace the state in a file.

    Raises:
        DataError: it cannot be written.
    """
    document = _CONVERTER.unstructure(_File(_VERSION, state))
    with _named_errors(path):
        write_atomically(path, json.dumps(document, indent=1) + "\n")


@contextlib.contextmanager
def _named_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        remedy = "Choose another file with --state."
        raise DataError(f"{path} cannot be written: {error.strerror}", remedy) from error
