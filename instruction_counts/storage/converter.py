"""The form of a run, a record and its details: what JSON can hold of them, and the way back.

A field that is added to one of their classes is in it by that alone. What takes no part in
equality is left out. Values of classes in `_TABLES`, of which there are hundreds, are one mapping
of columns.
"""

from __future__ import annotations

import contextlib
import functools
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin, get_type_hints

import attrs
import cattrs
from cattrs import cols

from instruction_counts.core.facts import SUBJECTS, Subject, subject_values
from instruction_counts.domain.executed import OperatorCalls, PythonFunction
from instruction_counts.domain.outcomes import (
    CallCost,
    FunctionCost,
    FunctionCosts,
    TensorValue,
)
from instruction_counts.domain.records import Record
from instruction_counts.reading.documents import one_of
from instruction_counts.reading.structure import Mismatch, bounds_of, guarded, strict_converter

_TABLES = (FunctionCost, CallCost, PythonFunction, OperatorCalls)


# What has to be so beside types and bounds, for whoever takes values apart


def _check_record(record: Record) -> None:
    if not record.label:
        raise Mismatch("at least one string", at=("label",))


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


_CHECKS: Mapping[type, Callable[[Any], None]] = {
    FunctionCosts: _check_calls,
    TensorValue: _check_sample,
    Record: _check_record,
}
"""A class after those that it holds, as it is read by what is registered then."""


# The converter


def _make_converter() -> cattrs.Converter:
    converter = strict_converter()
    converter.register_structure_hook_factory(_is_column, _reader_of_column)
    converter.register_structure_hook_factory(_is_table, _reader_of_table)
    converter.register_unstructure_hook_factory(_is_table, _writer_of_table)
    # Metadata can be nested deeper than hooks.
    converter.register_unstructure_hook_func(lambda kind: kind == dict[str, Any], dict)
    converter.register_structure_hook_func(_is_subject, functools.partial(_subject, converter))
    converter.register_unstructure_hook_func(_is_subject, subject_values)
    for kind, check in _CHECKS.items():
        read = converter.get_structure_hook(kind)
        converter.register_structure_hook(kind, functools.partial(_checked, read, check))
    return converter


def _checked(read: Callable[..., Any], check: Callable[[Any], None], value: Any, kind: Any) -> Any:
    found = read(value, kind)
    check(found)
    return found


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


def _subject(converter: cattrs.Converter, value: Any, _: Any) -> Any:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Mismatch("a mapping")
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in SUBJECTS:
        raise Mismatch(one_of(SUBJECTS, kind), at=("kind",))
    rest = {name: part for name, part in value.items() if name != "kind"}
    return converter.structure(rest, SUBJECTS[kind])


CONVERTER = _make_converter()
