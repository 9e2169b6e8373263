"""How far a watch got, in a file between its runs."""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import attrs

from instruction_counts.core.types import CaseKey
from instruction_counts.domain.build import Build
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.reading.structure import read_as, require_version, strict_converter
from instruction_counts.system.files import locked, unwritable, write_output
from instruction_counts.system.folders import make_data_folder

_VERSION = 1
"""Of that file: 1, the first."""

Step: TypeAlias = Mapping[str, Any]
"""One step of one case: plain values for JSON, for those who receive it."""


@attrs.frozen
class SeenBuild:
    """A build that later ones are compared with."""

    line: str
    """As it was listed."""
    name: str
    python: str
    run_id: int
    lock: str = ""

    @property
    def build(self) -> Build:
        """What to measure again."""
        return Build(self.name, self.python or None, lock=self.lock)


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
    unreported: tuple[Step, ...] = ()
    """Steps that were found and not reported yet."""


@attrs.frozen
class _File:
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
        UsageError: another watch has it, or nothing can be written there.
    """
    with contextlib.ExitStack() as stack:
        try:
            stack.enter_context(locked(path, patience_s=0))
        except TimeoutError as error:
            raise UsageError(
                f"another watch is using {path}",
                "Wait until it ends, or choose another file with --state.",
            ) from error
        except OSError as error:
            raise unwritable(path, "--state", error) from error
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
        of = "another command, cases or database"
        raise DataError(f"{path} belongs to another watch: it has {of}", remedy)
    return state


def write_state(path: Path, state: State) -> None:
    """Replace the state in a file.

    Raises:
        UsageError: it cannot be written.
    """
    document = {"version": _VERSION, **_CONVERTER.unstructure(_File(state))}
    write_output(path, json.dumps(document, indent=1) + "\n", "--state")
