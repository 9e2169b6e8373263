"""A run, a record or its details as a text of JSON: in files, the database and the spool."""

from __future__ import annotations

import contextlib
import gc
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from typing import Any, TypeVar

from instruction_counts.domain.errors import DataError
from instruction_counts.domain.records import Record
from instruction_counts.reading.structure import structured_values
from instruction_counts.storage.converter import CONVERTER

T = TypeVar("T")

_ESCAPES = re.compile(
    r"""\\(?:[^u]                                         # of another kind: a backslash, above all
    |u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}  # a pair
    |(?P<half>u[dD][89a-fA-F][0-9a-fA-F]{2}))""",
    re.VERBOSE,
)


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


def parsed(text: str) -> Any:
    """What a text of JSON holds. Halves of surrogate pairs, which no file takes, become ``?``.

    Raises:
        ValueError: it is no JSON, or a mapping has a name twice.
        RecursionError: it is nested too deep.
    """
    if "\\ud" in text or "\\uD" in text:
        text = _ESCAPES.sub(lambda escape: "?" if escape["half"] else escape[0], text)
    return json.loads(text, object_pairs_hook=_once, parse_constant=_refuse)


def loads(text: str, kind: type[T]) -> T:
    """The value of class ``kind`` that `dumps` was given.

    Raises:
        ValueError, ValidationError, RecursionError: the text holds something else.
    """
    return structured_values(parsed(text), kind.__name__, kind, CONVERTER)


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


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        numbers = Counter(name for name, _ in pairs)
        twice = next(name for name, number in numbers.items() if number > 1)
        raise ValueError(f'the name "{twice}" is there twice in a mapping')
    return found


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no number of JSON")
