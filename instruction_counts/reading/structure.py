"""Whole values from YAML and JSON: frozen attrs classes say what a file holds, and cattrs reads it.

A class is the whole description of a form. `read_as` gives its value, or one `ValidationError` with
everything that is wrong in the file, each problem with field, what was found and what was expected,
in YAML with line and column, too. This is the one means of validation; nothing takes files apart by
hand::

    @attrs.frozen
    class Input:
        shape: Several[Shape]                          # [2, 3] or [[2, 3], [4, 5]]
        dtypes: Several[Annotated[str, among(DTYPES)]] = attrs.field(alias="dtype")
        requires_grad: bool | None = None              # may be null

    @attrs.frozen
    class File:
        benchmarks: Annotated[tuple[Input, ...], Check(len, "at least one benchmark", "none")]
        name: Text = ""                                # may be left out: it has a default
        seed: Annotated[int, Bounds(0, LARGEST)] = 0
        model: Path | None = None                      # relative to the folder of the file
        timeout: Annotated[float, Parsed(seconds_of, EXPECTED)] = 60.0
        code: Text | Code = Code()                     # a string or a mapping

    converter = strict_converter()
    require_version(converter, File, "version", 1)     # File needs no field of that name
    file = read_as(path, File, converter, "See docs/….md.")

- **Types are strict**: no value is taken for one of another type, unknown fields are refused with
  the nearest known name, numbers are finite and fit in 64 bits, modes are spelled as options are.
- **A field** has the name of the attribute, or its ``alias``; without a default it is required.
- **`Annotated`** narrows a type: `Bounds` with a range, `among` with choices, `Check` with any
  condition, `Parsed` with a function from the plain value. It goes for keys of mappings, too.
- **`Text`** is a string that is not blank, **`Several[T]`** a list or a single T; `domain.bounds`
  has ``Count`` and ``Positive``.
- **A union** is decided by what is there: a string, number, list, mapping, true or false.
- **`Inline[T]`**: the fields of a class stand among those around them, as those of a case key do.
- **What spans several fields** is checked in ``__attrs_post_init__`` with `refuse`, which raises
  any number of `Mismatch` with their places below the value; it runs once the fields are right.
- **What spans the whole file** can be checked afterwards: keep the `Node` that `documents.read`
  gave, read it with `structured`, and raise `located(node, mismatches)`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import attrs
import cattrs

from instruction_counts.domain.errors import ValidationError
from instruction_counts.reading.converter import (
    Check,
    Inline,
    Mismatch,
    Parsed,
    Several,
    Steps,
    Text,
    among,
    bounds_of,
    ignore_other_fields,
    is_inline,
    names_of,
    paths_from,
    refuse,
    require_version,
    strict_converter,
)
from instruction_counts.reading.documents import Node, one_of, read

__all__ = [
    "Check",
    "Inline",
    "Mismatch",
    "Parsed",
    "Several",
    "Text",
    "among",
    "bounds_of",
    "ignore_other_fields",
    "located",
    "read_as",
    "refuse",
    "require_version",
    "strict_converter",
    "structured",
    "structured_values",
]

T = TypeVar("T")


def read_as(
    path: Path,
    kind: type[T],
    converter: cattrs.Converter,
    remedy: str = "",
    *,
    as_json: bool | None = None,
) -> T:
    """The value of class ``kind`` that a YAML or JSON file holds.

    Raises:
        DataError: the file cannot be read.
        ValidationError: it holds something else; all of it is named.
    """
    return structured(read(path, remedy, as_json=as_json), kind, converter, remedy)


def structured(
    node: Node,
    kind: type[T],
    converter: cattrs.Converter,
    remedy: str = "",
    *,
    folder: Path | None = None,
) -> T:
    """The value of class ``kind`` that a part of a file holds.

    Paths are relative to ``folder``, which is usually that of the file.

    Raises:
        ValidationError: it holds something else; all of it is named.
    """
    try:
        with paths_from(Path(node.file).parent if folder is None else folder):
            return converter.structure(node.plain, kind)
    except (ExceptionGroup, cattrs.BaseValidationError, ValueError, TypeError, KeyError) as error:
        raise located(node, _flat(error, ()), remedy) from error


def structured_values(
    values: object, name: str, kind: type[T], converter: cattrs.Converter, remedy: str = ""
) -> T:
    """The value of class ``kind`` that plain ``values`` of a file called ``name`` hold.

    Raises:
        ValidationError: they hold something else; all of it is named, without lines.
    """
    return structured(Node(name, values), kind, converter, remedy, folder=Path())


def located(node: Node, mismatches: Iterable[Mismatch], remedy: str = "") -> ValidationError:
    """The error that mismatches below a part of a file are."""
    found = [(node.below(*mismatch.at), mismatch) for mismatch in mismatches]
    return ValidationError(
        [below.problem(mismatch.expected, mismatch.found) for below, mismatch in found], remedy
    )


def _flat(error: BaseException, steps: Steps, kind: Any = None) -> Iterator[Mismatch]:
    """Each mismatch, with the whole way to its place; ``kind`` is the class around it."""
    below, key = _steps(error, kind)
    steps += below
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _flat(inner, steps, getattr(error, "cl", None))
    elif isinstance(error, Mismatch):
        yield Mismatch(error.expected, error.found or key, (*steps, *error.at))
    elif isinstance(error, cattrs.ForbiddenExtraKeysError):
        known = list(names_of(error.cl))
        for name in sorted(error.extra_fields):
            yield Mismatch(one_of(known, name), f'a field "{name}"', (*steps, name))
    elif isinstance(error, KeyError):
        yield Mismatch(f'a field "{error.args[0]}"', "none", steps[:-1])
    else:
        yield Mismatch(str(error), None, steps)


def _steps(error: BaseException, kind: Any) -> tuple[Steps, str | None]:
    """Where below the class or list around it an error is, and the key if it is one's."""
    steps: Steps = ()
    key: str | None = None
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, cattrs.AttributeValidationNote) and not is_inline(note.type):
            steps = (*steps, _alias(kind, note.name))
        elif isinstance(note, cattrs.IterableValidationNote):
            steps = (*steps, note.index)
            key = f'"{note.index}"' if note.startswith("Structuring mapping key") else None
    return steps, key


def _alias(kind: Any, name: str) -> str:
    field = attrs.fields_dict(kind).get(name) if attrs.has(kind) else None
    return name if field is None or field.alias is None else field.alias
