"""The form of a run, a record and its details: what JSON can hold of them, and the way back.

A field that is added to one of their classes is in it by that alone. What takes no part in
equality is left out. Values of classes in `_TABLES`, of which there are hundreds, are one mapping
of columns.
"""

from __future__ import annotations

import contextlib
import functools
import math
from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin, get_type_hints

import attrs
import cattrs
from cattrs import cols
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from instruction_counts.core.facts import SUBJECTS, Subject, subject_values
from instruction_counts.domain.bounds import Bounds
from instruction_counts.domain.executed import OperatorCalls, PythonFunction
from instruction_counts.domain.metrics import Amounts
from instruction_counts.domain.outcomes import (
    CallCost,
    FunctionCost,
    FunctionCosts,
    TensorValue,
)
from instruction_counts.domain.records import Record
from instruction_counts.reading.documents import one_of
from instruction_counts.reading.structure import Mismatch, bounds_of, strict_converter

_TABLES = (FunctionCost, CallCost, PythonFunction, OperatorCalls)

_DEEPEST = 500
"""Levels of metadata: all versions of Python can read and write so many."""


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
    Record: _check_record,
    FunctionCosts: _check_calls,
    TensorValue: _check_sample,
}


# The converter


def _make_converter() -> cattrs.Converter:
    converter = strict_converter()
    for is_meant, read in (
        (attrs.has, _reader_of_class),
        (_is_column, _reader_of_column),
        (_is_table, _reader_of_table),
    ):
        converter.register_structure_hook_factory(is_meant, read)
    converter.register_unstructure_hook_factory(attrs.has, _writer_of_class)
    converter.register_unstructure_hook_factory(_is_table, _writer_of_table)
    converter.register_structure_hook(Amounts, functools.partial(_amounts, converter))
    converter.register_unstructure_hook(Amounts, dict)
    converter.register_structure_hook_func(_is_metadata, _metadata)
    converter.register_unstructure_hook_func(_is_metadata, lambda metadata: metadata)
    converter.register_structure_hook_func(_is_subject, functools.partial(_subject, converter))
    converter.register_unstructure_hook_func(_is_subject, subject_values)
    return converter


def _left_out(kind: type[attrs.AttrsInstance]) -> dict[str, Any]:
    return {field.name: override(omit=True) for field in attrs.fields(kind) if not field.eq}


def _reader_of_class(kind: Any, converter: cattrs.Converter) -> Callable[..., Any]:
    left_out = _left_out(kind)
    read = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=True, **left_out)
    check = _CHECKS.get(kind, lambda _: None)

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, dict):
            raise Mismatch("a mapping")
        found = read(value, kind)
        check(found)
        return found

    return hook


def _writer_of_class(kind: Any, converter: cattrs.Converter) -> Callable[..., Any]:
    return make_dict_unstructure_fn(kind, converter, **_left_out(kind))


# Columns: one look at all of their values, as value by value a large file would take a minute

_SCALARS: Mapping[Any, frozenset[type]] = {
    str: frozenset({str}),
    bool: frozenset({bool}),
    int: frozenset({int}),
    float: frozenset({int, float}),
}


def _scalar_of(hint: Any) -> Any:
    """The type of the values of a hint; None where it is no scalar, or has an unusual bound."""
    parts = [part for part in get_args(hint) if part is not type(None)]
    part = parts[0] if type(None) in get_args(hint) else hint
    if bounds_of(part) == Bounds(0):
        part = part.__origin__
    return part if part in _SCALARS else None


def _is_column(kind: Any) -> bool:
    parts = get_args(kind)
    return get_origin(kind) is tuple and parts[1:] == (...,) and _scalar_of(parts[0]) is not None


def _reader_of_column(kind: Any, converter: cattrs.Converter) -> Callable[..., Any]:
    read = cols.homogenous_tuple_structure_factory(kind, converter)
    (hint, _) = get_args(kind)
    plain = _scalar_of(hint)
    allowed = _SCALARS[plain] | ({type(None)} if type(None) in get_args(hint) else set())

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, list):
            raise Mismatch("a list")
        if allowed.issuperset(map(type, value)) and _is_usual(value, plain):
            return tuple(map(float, value) if plain is float else value)
        return read(value, kind)

    return hook


def _is_usual(values: list[Any], plain: type) -> bool:
    """Whether they need no closer look."""
    known = [value for value in values if value is not None]
    if plain is bool or not known:
        return True
    if plain is str:
        return all(map(str.isascii, known))
    return bool(min(known) >= 0 and max(known) < (2**63 if plain is int else 1e308))


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


# Amounts, metadata and subjects


def _amounts(converter: cattrs.Converter, value: Any, _: Any) -> Amounts:
    return Amounts(converter.structure(value, dict[str, int | float]))


def _is_metadata(kind: Any) -> bool:
    return bool(kind == dict[str, Any])


def _metadata(value: Any, _: Any) -> Any:
    if not isinstance(value, dict):
        raise Mismatch("a mapping")
    _check_part(value, 1)
    return value


def _check_part(value: Any, level: int) -> None:
    if type(value) is float and not math.isfinite(value):
        raise Mismatch("finite numbers")
    if not isinstance(value, list | dict):
        return
    if level > _DEEPEST:
        raise Mismatch(f"at most {_DEEPEST} levels", "more")
    for part in value.values() if isinstance(value, dict) else value:
        _check_part(part, level + 1)


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
