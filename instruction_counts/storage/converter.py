"""The form of a run, a record and its details: what JSON can hold of them, and the way back.

A field that is added to one of their classes is in it by that alone. What takes no part in
equality is left out. Values of classes in `_TABLES`, of which there are hundreds, are one mapping
of columns.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, get_args, get_origin, get_type_hints

import attrs
import cattrs
from cattrs import cols
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from instruction_counts.core.facts import SUBJECTS, Subject, subject_values
from instruction_counts.domain.bounds import Bounds
from instruction_counts.domain.executed import OperatorCalls, PythonFunction
from instruction_counts.domain.metrics import BYTECODES, OPERATOR_CALLS, Amounts
from instruction_counts.domain.outcomes import (
    CallCost,
    FunctionCost,
    FunctionCosts,
    Instructions,
    Outcome,
    TensorValue,
)
from instruction_counts.domain.records import Record
from instruction_counts.reading.documents import one_of
from instruction_counts.reading.structure import Mismatch, bounds_of, strict_converter

_TABLES = (FunctionCost, CallCost, PythonFunction, OperatorCalls)

_DEEPEST = 500
"""Levels of metadata: all versions of Python can read and write so many."""


# What figures have to say of each other


def _check_record(record: Record) -> None:
    if not record.label:
        raise Mismatch("at least one string", at=("label",))


def _check_count(counted: Instructions) -> None:
    if not counted.windows:
        raise Mismatch("at least one window", at=("windows",))
    cost = counted.per_run + counted.loop
    if cost < 0:
        expected = f"at least {-counted.loop}: less than nothing is left"
        raise Mismatch(expected, at=("per_run",))
    # An estimate is the difference of two windows, of which one has twice the iterations.
    largest = max(window.instructions / window.runs for window in counted.windows)
    most = max(cost, 3 * largest)
    if counted.spread > most:
        raise Mismatch(f"at most {most:,.0f}, by what its windows counted", at=("spread",))


def _check_calls(functions: FunctionCosts) -> None:
    known = len(functions.costs)
    for name in ("caller", "callee"):
        for place, call in enumerate(functions.calls):
            if getattr(call, name) >= known:
                expected = f"a position in costs, less than {known}"
                raise Mismatch(expected, at=("calls", name, place))


def _check_executed(outcome: Outcome) -> None:
    executed = outcome.executed
    if executed is None:
        return
    for metric, number in (
        (BYTECODES.name, executed.bytecodes),
        (OPERATOR_CALLS.name, executed.operator_calls),
    ):
        if outcome.metrics.get(metric, number) != number:
            raise Mismatch(f"{number}, by what was executed", at=("metrics", metric))
    if outcome.executed_digests not in {None, executed.digests}:
        raise Mismatch("digests of what was executed", at=("executed_digests",))


def _check_sample(tensor: TensorValue) -> None:
    with contextlib.suppress(ValueError, binascii.Error):
        if len(base64.b64decode(tensor.sample, validate=True)) % 8 == 0:
            return
    raise Mismatch("numbers of eight bytes in base64", at=("sample",))


_CHECKS: Mapping[type, Callable[[Any], None]] = {
    Record: _check_record,
    Instructions: _check_count,
    FunctionCosts: _check_calls,
    Outcome: _check_executed,
    TensorValue: _check_sample,
}


# The converter


def _make_converter(*, is_checked: bool) -> cattrs.Converter:
    converter = strict_converter()
    if not is_checked:
        converter.register_structure_hook_factory(_has_bounds, _reader_without_bounds)
    for is_meant, read, write in (
        (attrs.has, functools.partial(_reader_of_class, is_checked), _writer_of_class),
        (_is_column, _reader_of_column, None),
        (_is_table, _reader_of_table, _writer_of_table),
    ):
        converter.register_structure_hook_factory(is_meant, read)
        if write is not None:
            converter.register_unstructure_hook_factory(is_meant, write)
    converter.register_structure_hook(Amounts, functools.partial(_amounts, converter))
    converter.register_unstructure_hook(Amounts, dict)
    if is_checked:
        converter.register_structure_hook_func(_is_metadata, _metadata)
    converter.register_unstructure_hook_func(_is_metadata, lambda metadata: metadata)
    converter.register_structure_hook_func(_is_subject, functools.partial(_subject, converter))
    converter.register_unstructure_hook_func(_is_subject, subject_values)
    return converter


def _has_bounds(kind: Any) -> bool:
    return bounds_of(kind) is not None


def _reader_without_bounds(kind: Any, converter: cattrs.Converter) -> Callable[..., Any]:
    plain = kind.__origin__
    read = converter.get_structure_hook(plain)
    return lambda value, _: read(value, plain)


def _left_out(kind: type[attrs.AttrsInstance]) -> dict[str, Any]:
    return {field.name: override(omit=True) for field in attrs.fields(kind) if not field.eq}


def _reader_of_class(
    is_checked: bool, kind: Any, converter: cattrs.Converter
) -> Callable[..., Any]:
    read = make_dict_structure_fn(
        kind, converter, _cattrs_forbid_extra_keys=True, **_left_out(kind)
    )
    check = _CHECKS.get(kind) if is_checked else None

    def hook(value: Any, _: Any) -> Any:
        if not isinstance(value, dict):
            raise Mismatch("a mapping")
        found = read(value, kind)
        if check is not None:
            check(found)
        return found

    return hook


def _writer_of_class(kind: Any, converter: cattrs.Converter) -> Callable[..., Any]:
    return make_dict_unstructure_fn(kind, converter, **_left_out(kind))


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
    # One look at all of them: value by value, a large file would take a minute.
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


def _amounts(converter: cattrs.Converter, value: Any, _: Any) -> Amounts:
    return Amounts(converter.structure(value, dict[str, int | float]))


def _is_metadata(kind: Any) -> bool:
    return bool(kind == dict[str, Any])


def _metadata(value: Any, _: Any) -> Any:
    if not isinstance(value, dict):
        raise Mismatch("a mapping")
    levels = 0
    outer: list[Any] = [value]
    while outer:
        levels += 1
        if levels > _DEEPEST:
            raise Mismatch(f"at most {_DEEPEST} levels", "more")
        inner = [
            part
            for whole in outer
            for part in (whole.values() if isinstance(whole, dict) else whole)
        ]
        if not all(math.isfinite(part) for part in inner if type(part) is float):
            raise Mismatch("finite numbers")
        outer = [part for part in inner if isinstance(part, list | dict)]
    return value


def _is_subject(kind: Any) -> bool:
    return bool(kind == Subject | None)


def _subject(converter: cattrs.Converter, value: Any, _: Any) -> Subject | None:
    if value is None:
        return None
    if not isinstance(value, dict):
        raise Mismatch("a mapping")
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in SUBJECTS:
        raise Mismatch(one_of(SUBJECTS, kind), at=("kind",))
    rest = {name: part for name, part in value.items() if name != "kind"}
    found: Subject = converter.structure(rest, SUBJECTS[kind])
    return found


CONVERTER = _make_converter(is_checked=False)
"""For what this program wrote: whatever was measured can be read again."""

CHECKED = _make_converter(is_checked=True)
"""For what others may have edited: numbers lie within their bounds, and agree with each other."""
