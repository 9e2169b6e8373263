"""Result files: a run as JSON, and the way back.

JSON schema history: 1, the first. ``schema.json`` beside this module describes it.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.records import Complete, Record, Run, as_it_is
from instruction_counts.reading.contents import read_bytes
from instruction_counts.storage.conversion import head_to_values, record_to_values, run_from_values
from instruction_counts.storage.garbage import no_garbage

SCHEMA_VERSION = 1
LARGEST_VARIABLE = "INSTRUCTION_COUNTS_MAX_FILE_MIB"
"""The environment variable that says how much a result file may hold, unpacked."""
_LARGEST_MIB = 1024
"""About 20,000 cases with their costs by function. 2 MB of gzip's can unpack to GBs."""
_REMEDY = "Was it written by --output? If so, it is damaged or incomplete: measure again."
_GZIP = 16
"""Added to the size of zlib's window, it asks for gzip's format."""
_ESCAPES = re.compile(
    r"""\\(?:[^u]                                         # of another kind: a backslash, above all
    |u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}  # a pair
    |(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2}))""",
    re.VERBOSE,
)


def to_json(run: Run, complete: Complete = as_it_is) -> str:
    """The whole run; `from_json` gives it back."""
    return "".join(json_parts(run, complete))


def from_json(text: str, name: str) -> Run:
    """A run from the text of a JSON file called ``name``.

    Raises:
        DataError: the text is no JSON, of another schema version, or does not fit the schema.
    """
    with no_garbage():
        return _run_of(_parsed(text, name), name)


def _run_of(data: Any, name: str) -> Run:
    version = data.get("schema_version") if isinstance(data, dict) else None
    if type(version) is not int or version != SCHEMA_VERSION:
        raise DataError(
            f"{name}: schema_version is {version!r}, and this program reads {SCHEMA_VERSION}",
            "Use the version of instruction-counts that wrote the file, or measure again.",
        )
    try:
        return run_from_values(data, name)
    except RecursionError as error:
        raise DataError(f"{name} is nested too deep", _REMEDY) from error


def _parsed(text: str, name: str) -> Any:
    def refuse(constant: str) -> None:
        raise ValueError(f"{constant} is no number of JSON")

    try:
        return json.loads(_without_surrogates(text), parse_constant=refuse)
    except ValueError as error:
        raise DataError(f"{name} is not JSON: {error}", _REMEDY) from error
    except RecursionError as error:
        raise DataError(f"{name} is nested too deep", _REMEDY) from error


def _without_surrogates(text: str) -> str:
    # No file and no terminal takes half of a pair. What is measured has question marks, too.
    if "\\ud" not in text and "\\uD" not in text:
        return text
    return _ESCAPES.sub(lambda escape: "?" if escape["half"] else escape[0], text)


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
    try:
        return json.dumps(record_to_values(record), allow_nan=False)
    except ValueError as error:
        raise DataError(
            f"{' / '.join(record.label)} holds a number that JSON does not know: {error}",
            "Measure it again.",
        ) from error


def json_parts(run: Run, complete: Complete = as_it_is) -> Iterator[str]:
    """The text of `to_json`, a case at a time."""
    # A case at a time: with their costs per function, those of a large run need not fit in memory.
    head = {"schema_version": SCHEMA_VERSION, **head_to_values(run)}
    opening = json.dumps(head, indent=2, allow_nan=False).removesuffix("\n}")
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
