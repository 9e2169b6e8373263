"""A run, a record or its details as JSON: result files, and what the database keeps in a column.

History of the schema: 1, the first. docs/reference/result-files.md describes it.
"""

from __future__ import annotations

import contextlib
import functools
import gc
import json
import secrets
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TypeVar

import attrs

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.records import Complete, Record, Run, as_it_is
from instruction_counts.reading.documents import Node, of_json, parsed_json, read
from instruction_counts.reading.structure import Inline, require_version, structured
from instruction_counts.storage.converter import CONVERTER
from instruction_counts.system.files import write_output
from instruction_counts.system.folders import make_data_folder

T = TypeVar("T")

SCHEMA_VERSION = 1
_LARGEST_MIB = 2048
"""About 40,000 cases with their costs by function. 2 MB of gzip's can unpack to GBs."""
_REMEDY = (
    "Was it edited, cut, or written by another version of instruction-counts? Restore it, use "
    "that version, or measure again; only JSON files that --output wrote can be read."
)


# Values as text


def dumps(value: Any) -> str:
    """An attrs value, or one of its parts, as a line of JSON.

    Raises:
        DataError: it holds a number that JSON does not know.
    """
    try:
        return json.dumps(CONVERTER.unstructure(value), allow_nan=False)
    except ValueError as error:
        name = " / ".join(value.label) if isinstance(value, Record) else type(value).__name__
        raise DataError(
            f"{name} holds a number that JSON does not know: {error}", "Measure it again."
        ) from error


def loads(text: str, kind: type[T]) -> T:
    """The value of class ``kind`` that `dumps` was given.

    Raises:
        ValueError, ValidationError, RecursionError: the text holds something else.
    """
    return structured(Node(kind.__name__, parsed_json(text)), kind, CONVERTER)


def packed(value: Any) -> bytes:
    """What `dumps` gives, compressed."""
    return zlib.compress(dumps(value).encode())


def unpacked(data: bytes, kind: type[T]) -> T:
    """The value of class ``kind`` that `packed` was given.

    Raises:
        zlib.error: it is not compressed; else as `loads`.
    """
    return loads(zlib.decompress(data).decode(), kind)


@contextlib.contextmanager
def no_garbage() -> Iterator[None]:
    """Leave the collection of cycles out while values are made."""
    # A run can have a million values, and no cycles. Going over all of them again and again would
    # take four times as long as making them.
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


# Result files


@attrs.frozen
class _File:
    run: Inline[Run]


require_version(CONVERTER, _File, "schema_version", SCHEMA_VERSION)


def to_json(run: Run) -> str:
    """The whole run; `from_json` gives it back."""
    return "".join(json_parts(run))


def json_parts(run: Run, complete: Complete = as_it_is) -> Iterator[str]:
    """The text of `to_json`, a case at a time."""
    # With their costs per function, the cases of a large run need not fit in memory.
    head: dict[str, Any] = CONVERTER.unstructure(attrs.evolve(run, cases=()))
    del head["cases"]
    opening = json.dumps({"schema_version": SCHEMA_VERSION, **head}, indent=2, allow_nan=False)
    opening = opening.removesuffix("\n}")
    yield f'{opening},\n  "cases": [\n    '
    for place, record in enumerate(run.cases):
        yield (",\n    " if place else "") + dumps(complete(record))
    yield "\n  ]\n}\n"


def from_json(text: str, name: str) -> Run:
    """A run from the text of a JSON file called ``name``.

    Raises:
        ValidationError: it holds no run of this version; the place of each problem is named.
    """
    with no_garbage():
        return _run(of_json(Node(name, remedy=_REMEDY), text))


def read_json(path: Path, largest_mib: int = _LARGEST_MIB) -> Run:
    """The run in a JSON file, compressed (``.gz``) or not, of at most so many MiB, unpacked.

    Raises:
        DataError: the file cannot be read, or holds something else.
    """
    with no_garbage():
        return _run(read(path, _REMEDY, as_json=True, largest_mib=largest_mib))


def _run(node: Node) -> Run:
    return structured(node, _File, CONVERTER).run


def is_file_name(text: str) -> bool:
    """Whether ``text`` can only be a file of `read_json`: no stored run can be called so."""
    return "/" in text or text.endswith((".json", ".json.gz"))


def keep(run: Run, complete: Complete) -> Path | None:
    """Write a run that cannot be stored to a file of its own; None where no folder takes one.

    It is in the user's data folder, or with temporary files. Details that cannot be read any more
    are missing.
    """

    def completed(record: Record) -> Record:
        try:
            return complete(record)
        except DataError:
            return record

    name = f"not-stored-{secrets.token_hex(4)}.json.gz"
    for folder in (functools.partial(make_data_folder, "--db"), tempfile.gettempdir):
        with contextlib.suppress(OSError, UsageError):
            path = Path(folder()) / name
            write_output(path, json_parts(run, completed))
            return path
    return None
