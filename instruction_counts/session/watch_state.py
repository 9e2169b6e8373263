"""How far a watch got, in a file between its runs.

File format history: 1, the first.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

import attrs

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.history.watching import State
from instruction_counts.reading.structure import read_as, require_version, strict_converter
from instruction_counts.system.files import locked, write_atomically
from instruction_counts.system.folders import make_data_folder

_VERSION = 1


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
        try:
            stack.enter_context(locked(path, patience_s=0))
        except TimeoutError as error:
            raise UsageError(
                f"another watch is using {path}",
                "Wait until it ends, or choose another file with --state.",
            ) from error
        except OSError as error:
            raise _not_writable(path, error) from error
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
    try:
        write_atomically(path, json.dumps(document, indent=1) + "\n")
    except OSError as error:
        raise _not_writable(path, error) from error


def _not_writable(path: Path, error: OSError) -> DataError:
    return DataError(
        f"{path} cannot be written: {error.strerror}", "Choose another file with --state."
    )
