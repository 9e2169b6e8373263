"""Result files: a run as JSON, and the way back.

History of the schema: 1, the first. docs/reference/result-files.md describes it.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import re
import secrets
import tempfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import attrs

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.records import Complete, Record, Run, as_it_is
from instruction_counts.reading.documents import read_bytes
from instruction_counts.reading.structure import structured_values
from instruction_counts.storage.converter import CHECKED, CONVERTER
from instruction_counts.storage.documents import dumps, no_garbage, parsed
from instruction_counts.system.files import write_atomically
from instruction_counts.system.folders import make_data_folder

SCHEMA_VERSION = 1
LARGEST_VARIABLE = "INSTRUCTION_COUNTS_MAX_FILE_MIB"
"""The environment variable that says how much a result file may hold, unpacked."""
_LARGEST_MIB = 1024
"""About 20,000 cases with their costs by function. 2 MB of gzip's can unpack to GBs."""
_REMEDY = "Was it written by --output? If so, it is damaged or incomplete: measure again."
_EDITED = (
    "Was it edited? Restore it, or measure again; only JSON files that --output wrote can be read."
)
_GZIP = 16
"""Added to the size of zlib's window, it asks for gzip's format."""


def to_json(run: Run, complete: Complete = as_it_is) -> str:
    """The whole run; `from_json` gives it back."""
    return "".join(json_parts(run, complete))


def from_json(text: str, name: str) -> Run:
    """A run from the text of a JSON file called ``name``.

    Raises:
        DataError: the text is no JSON, or of another schema version.
        ValidationError: it holds no run; the place of each problem is named.
    """
    with no_garbage():
        try:
            values = parsed(text)
            version = values.pop("schema_version", None) if isinstance(values, dict) else None
            if type(version) is not int or version != SCHEMA_VERSION:
                raise DataError(
                    f"{name}: schema_version is {version!r}, and this program reads "
                    f"{SCHEMA_VERSION}",
                    "Use the version of instruction-counts that wrote the file, or measure again.",
                )
            return structured_values(values, name, Run, CHECKED, _EDITED)
        except ValueError as error:
            raise DataError(f"{name} is not JSON: {error}", _REMEDY) from error
        except RecursionError as error:
            raise DataError(f"{name} is nested too deep", _REMEDY) from error


def read_json(path: Path) -> Run:
    """The run in a JSON file, compressed (``.gz``) or not.

    Raises:
        DataError: the file cannot be read, or holds something else.
    """
    most = _largest_mib() << 20
    data = read_bytes(path, most + 1)
    if len(data) > most:
        raise DataError(
            f"{path} holds more than {most >> 20:,} MiB, unpacked",
            f"If it is a result file, allow more: {LARGEST_VARIABLE}={2 * (most >> 20)}",
        )
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not JSON: {error}", _REMEDY) from error
    del data  # the text alone can be large
    return from_json(text, str(path))


def _largest_mib() -> int:
    asked = os.environ.get(LARGEST_VARIABLE) or str(_LARGEST_MIB)
    if not re.fullmatch("[1-9][0-9]{0,8}", asked):
        raise UsageError(
            f"{LARGEST_VARIABLE} is {asked!r}", "Give a whole number of MiB, such as 4096."
        )
    return int(asked)


def is_file_name(text: str) -> bool:
    """Whether ``text`` can only be a file of `read_json`: no stored run can be called so."""
    return "/" in text or text.endswith((".json", ".json.gz"))


def record_to_json(record: Record) -> str:
    """One case as the JSON object that stands in ``cases``."""
    return dumps(record)


def json_parts(run: Run, complete: Complete = as_it_is) -> Iterator[str]:
    """The text of `to_json`, a case at a time."""
    # With their costs per function, the cases of a large run need not fit in memory.
    head: dict[str, Any] = CONVERTER.unstructure(attrs.evolve(run, cases=()))
    del head["cases"]
    opening = json.dumps({"schema_version": SCHEMA_VERSION, **head}, indent=2, allow_nan=False)
    opening = opening.removesuffix("\n}")
    yield f'{opening},\n  "cases": [\n    '
    for place, record in enumerate(run.cases):
        yield (",\n    " if place else "") + record_to_json(complete(record))
    yield "\n  ]\n}\n"


def compressed_parts(run: Run, complete: Complete = as_it_is) -> Iterator[bytes]:
    """The same text in gzip's format: a tenth of the size."""
    compressor = zlib.compressobj(wbits=zlib.MAX_WBITS | _GZIP)
    for part in json_parts(run, complete):
        yield compressor.compress(part.encode())
    yield compressor.flush()


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

    def temporary() -> Path:
        return Path(tempfile.gettempdir())

    name = f"not-stored-{secrets.token_hex(4)}.json.gz"
    for folder in (functools.partial(make_data_folder, "--db"), temporary):
        with contextlib.suppress(OSError, UsageError):
            path = folder() / name
            write_atomically(path, compressed_parts(run, completed))
            return path
    return None
