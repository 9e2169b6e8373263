"""A run, a record or its details as JSON: result files, and what the database keeps in a column.

A field that is added to one of their classes is in it by that alone. What takes no part in
equality is left out. Values of classes in `_TABLES`, of which there are hundreds, are one mapping
of columns.

History of the schema: 1, the first. docs/reference/result-files.md describes it.
"""

import contextlib
import functools
import gc
import json
import secrets
import tempfile
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NewType, TypeVar, get_args, get_origin, get_type_hints

import attrs
import cattrs
from cattrs import cols

from instruction_counts.core.errors import one_of
from instruction_counts.core.facts import SUBJECTS, Subject, subject_values
from instruction_counts.domain.errors import DataError, UsageError
from instruction_counts.domain.executed import OperatorCalls, PythonFunction
from instruction_counts.domain.outcomes import (
    CallCost,
    Details,
    FunctionCost,
    FunctionCosts,
    TensorValue,
)
from instruction_counts.domain.records import CountOfRecord, Record, Run
from instruction_counts.reading.documents import Node, parsed_json, read
from instruction_counts.reading.structure import (
    Mismatch,
    bounds_of,
    class_hook,
    guarded,
    require_version,
    strict_converter,
    structured,
)
from instruction_counts.system.files import write_output
from instruction_counts.system.folders import make_data_folder

T = TypeVar("T")

SCHEMA_VERSION = 1
_LARGEST_MIB = 2048
"""About 40,000 cases with their costs by function. 2 MB of gzip's can unpack to GBs."""
_REMEDY = (
    "Only JSON files of runs can be read here, none of comparisons. Or was it edited, cut, or "
    "written by another version of instruction-counts? Restore it, or measure again."
)
_TABLES = (FunctionCost, CallCost, PythonFunction, OperatorCalls)


# What has to be so beside types and bounds, for whoever takes values apart


def _check_run(run: Run) -> None:
    seen: set[object] = set()
    for place, record in enumerate(run.cases):
        if not record.label:
            raise Mismatch("at least one string", at=("cases", place, "label"))
        if record.build not in run.builds:
            raise Mismatch(one_of(run.builds, record.build), at=("cases", place, "build"))
        if record.identity in seen:
            raise Mismatch("a case that is not there before", at=("cases", place))
        seen.add(record.identity)


def _check_calls(functions: FunctionCosts) -> None:
    known = len(functions.costs)
    for place, call in enumerate(functions.calls):
        for name, position in (("caller", call.caller), ("callee", call.callee)):
            if position >= known:
                expected = f"a position in costs, less than {known}"
                raise Mismatch(expected, at=("calls", name, place))


def _check_sample(tensor: TensorValue) -> None:
    with contextlib.suppress(ValueError):
        if len(b64decode(tensor.sample, validate=True)) % 8 == 0:
            return
    raise Mismatch("numbers of eight bytes in base64", at=("sample",))


_CHECKS: Mapping[Any, Callable[[Any], None]] = {
    FunctionCosts: _check_calls,
    TensorValue: _check_sample,
    Run: _check_run,
}


def _checked(kind: Any, check: Callable[[Any], None]) -> Callable[..., Any]:
    read = class_hook(kind, CONVERTER)

    def hook(value: Any, kind: Any) -> Any:
        found = read(value, kind)
        check(found)
        return found

    return hook


# Columns: one look at all of their values, as value by value a large file would take a minute

_SCALARS: Mapping[Any, set[type]] = {str: {str}, bool: {bool}, int: {int}, float: {int, float}}


def _scalar_of(hint: Any) -> tuple[Any, bool]:
    """The type of the values of a hint, or None where it is no scalar; whether it may be None."""
    parts = get_args(hint)
    is_optional = type(None) in parts
    part = parts[0] if is_optional else hint
    plain = get_args(part)[0] if bounds_of(part) else part
    return plain if plain in _SCALARS else None, is_optional


def _is_column(kind: Any) -> bool:
    parts = get_args(kind)
    is_tuple = get_origin(kind) is tuple and parts[1:] == (...,)
    return is_tuple and _scalar_of(parts[0])[0] is not None


def _reader_of_column(kind: Any, converter: cattrs.Converter) -> Callable[..., Any]:
    read = guarded(cols.homogenous_tuple_structure_factory)(kind, converter)
    (hint, _) = get_args(kind)
    plain, is_optional = _scalar_of(hint)
    allowed = _SCALARS[plain] | ({type(None)} if is_optional else set())
    read_one = converter.get_structure_hook(hint)

    def hook(value: Any, _: Any) -> Any:
        if isinstance(value, list) and allowed.issuperset(map(type, value)):
            known = [part for part in value if part is not None]
            # As what is allowed is a range, and half a pair of surrogates is one in any text.
            ends = ["".join(known)] if plain is str else [min(known), max(known)] if known else []
            with contextlib.suppress(Mismatch):
                for part in ends:
                    read_one(part, hint)
                return tuple(map(float, value) if plain is float else value)
        return read(value, kind)

    return hook


def _is_table(kind: Any) -> bool:
    return get_origin(kind) is tuple and get_args(kind)[0] in _TABLES


def _reader_of_table(kind: Any, converter: cattrs.Converter) -> Callable[..., Any]:
    row, several = kind.__args__[0], get_origin(kind)
    hints = get_type_hints(row, include_extras=True)
    columns = {
        field.name: attrs.field(type=several[hints[field.name], ...]) for field in attrs.fields(row)
    }
    whole = attrs.make_class(row.__name__, columns, frozen=True)
    read = converter.get_structure_hook(whole)

    def hook(value: Any, _: Any) -> Any:
        columns = attrs.astuple(read(value, whole), recurse=False)
        if len(set(map(len, columns))) > 1:
            raise Mismatch("columns of one length")
        return tuple(map(row, *columns))

    return hook


def _writer_of_table(kind: Any, _: cattrs.Converter) -> Callable[..., Any]:
    names = [field.name for field in attrs.fields(kind.__args__[0])]
    return lambda rows: {name: [getattr(row, name) for row in rows] for name in names}


# Subjects


def _is_subject(kind: Any) -> bool:
    return bool(kind == Subject | None)


def _subject(value: Any, _: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Mismatch("a mapping")
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in SUBJECTS:
        raise Mismatch(one_of(SUBJECTS, kind), at=("kind",))
    rest = {name: part for name, part in value.items() if name != "kind"}
    return CONVERTER.structure(rest, SUBJECTS[kind])


# The converter

CONVERTER = strict_converter()
CONVERTER.register_structure_hook_factory(_is_column, _reader_of_column)
CONVERTER.register_structure_hook_factory(_is_table, _reader_of_table)
CONVERTER.register_unstructure_hook_factory(_is_table, _writer_of_table)
# Metadata can be nested deeper than hooks.
CONVERTER.register_unstructure_hook_func(lambda kind: kind == dict[str, Any], dict)
CONVERTER.register_structure_hook_func(_is_subject, _subject)
CONVERTER.register_unstructure_hook_func(_is_subject, subject_values)
for _kind, _check in _CHECKS.items():  # the inner ones first
    CONVERTER.register_structure_hook(_kind, _checked(_kind, _check))


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
            f"{name} contains a number that JSON cannot represent: {error}", "Measure it again."
        ) from error


def loads(text: str, kind: type[T]) -> T:
    """The value of class ``kind`` that `dumps` was given.

    Raises:
        ValueError, ValidationError, RecursionError: the text holds something else.
    """
    return structured(Node(kind.__name__, parsed_json(text)), kind, CONVERTER)


def loads_counted(text: str) -> CountOfRecord:
    """That part of the record that `dumps` was given: histories have tens of thousands.

    The rest is neither made nor checked.

    Raises:
        ValueError, ValidationError, RecursionError, KeyError, TypeError: as `loads`.
    """
    whole = parsed_json(text)
    outcome = whole["outcome"]
    counted, failure = outcome["instructions"], outcome["failure"]
    part = {
        **{name: whole[name] for name in ("build", "definition_hash", "noise")},
        "status": outcome["status"],
        "instructions": None if counted is None else {**counted, "windows": []},
        "failure": "" if failure is None else failure["message"],
    }
    found = structured(Node(Record.__name__, part), CountOfRecord, CONVERTER)
    return attrs.evolve(found, failure=found.failure.partition("\n")[0])


def packed(details: Details) -> bytes:
    """What `dumps` gives, compressed."""
    return zlib.compress(dumps(details).encode())


def unpacked(data: bytes) -> Details:
    """The details that `packed` was given.

    Raises:
        zlib.error: they are not compressed; else as `loads`.
    """
    return loads(zlib.decompress(data).decode(), Details)


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


_File = NewType("_File", Run)
require_version(CONVERTER, _File, "schema_version", SCHEMA_VERSION)


def json_parts(
    run: Run, complete: Callable[[Record], Record] = lambda record: record.completed
) -> Iterator[str]:
    """The text of a result file, a case at a time; `read_json` gives the run back."""
    # With their costs per function, the cases of a large run need not fit in memory.
    head: dict[str, Any] = CONVERTER.unstructure(attrs.evolve(run, cases=()))
    del head["cases"]
    opening = json.dumps({"schema_version": SCHEMA_VERSION, **head}, indent=2, allow_nan=False)
    opening = opening.removesuffix("\n}")
    yield f'{opening},\n  "cases": [\n    '
    for place, record in enumerate(run.cases):
        yield (",\n    " if place else "") + dumps(complete(record))
    yield "\n  ]\n}\n"


def read_json(path: Path, largest_mib: int = _LARGEST_MIB) -> Run:
    """The run in a JSON file, compressed (``.gz``) or not, of at most so many MiB, unpacked.

    Raises:
        DataError: the file cannot be read, or holds something else.
    """
    with no_garbage():
        root = read(path, _REMEDY, as_json=True, largest_mib=largest_mib)
        return structured(root, _File, CONVERTER)


def is_file_name(text: str) -> bool:
    """Whether ``text`` can only be a file of `read_json`: no stored run can be called so."""
    return "/" in text or text.endswith((".json", ".json.gz"))


def keep(run: Run) -> Path | None:
    """Write a run that cannot be stored to a file of its own; None where no folder takes one.

    It is in the user's data folder, or with temporary files. Details that cannot be read any more
    are missing.
    """

    def completed(record: Record) -> Record:
        try:
            return record.completed
        except DataError:
            return record

    name = f"not-stored-{secrets.token_hex(4)}.json.gz"
    for folder in (functools.partial(make_data_folder, "--db"), tempfile.gettempdir):
        with contextlib.suppress(OSError, UsageError):
            path = Path(folder()) / name
            write_output(path, json_parts(run, completed))
            return path
    return None
