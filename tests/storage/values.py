"""Runs made from the types of their fields, so that none can be forgotten."""

from __future__ import annotations

import base64
import enum
from collections.abc import Callable, Mapping
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin, get_type_hints

import attrs
from hypothesis import strategies as st

from instruction_counts.core.facts import SUBJECTS
from instruction_counts.domain.bounds import Bounds
from instruction_counts.domain.metrics import Amounts
from instruction_counts.domain.outcomes import (
    FunctionCosts,
    TensorValue,
)
from instruction_counts.domain.records import Record, Run

_NOT_KEPT = {
    "Record.stored_in",  # where the details are now: every store answers with a place of its own
    "Run.is_stored",  # whether the database has what the program has
}

_T = TypeVar("_T", bound=attrs.AttrsInstance)


# Something in every field

_OF_TYPES = {str: "AAAAAAAAAAA=", int: 2, float: 0.5, Amounts: Amounts({"m": 2}), Any: ["x", None]}
"""The text is eight bytes in base64, and a position of 2 is the last of three values."""


def whole(kind: type[_T], **known: Any) -> _T:
    """A value that has something else than its default in every field, all the way down."""
    hints = get_type_hints(kind)
    for field in attrs.fields(kind):
        is_kept = f"{kind.__name__}.{field.name}" not in _NOT_KEPT
        assert is_kept == bool(field.eq), f"nobody would see that {field.name} is lost"
        if is_kept and field.alias not in known:
            known[field.alias] = value = _value(hints[field.name], field.default)
            assert value != field.default, f"{field.name} needs another value"
    return kind(**known)


def _value(hint: Any, default: Any = None) -> Any:
    origin, kinds = get_origin(hint), [part for part in get_args(hint) if part is not NoneType]
    if NoneType in get_args(hint):
        (hint,) = kinds
        return _value(hint, default)
    if origin is tuple:
        return (_value(kinds[0]),) * 3 if ... in kinds else tuple(map(_value, kinds))
    if origin in {dict, Mapping}:
        return {_value(kinds[0]): _value(kinds[1])}
    if attrs.has(hint):
        return whole(hint)
    if isinstance(hint, enum.EnumMeta):
        return list(hint)[-1]
    return {bool: default is not True, **_OF_TYPES}[hint]


WHOLE = whole(
    Run,
    cases=tuple(whole(Record, label=(name,), subject=whole(SUBJECTS[name])) for name in SUBJECTS),
)


# Anything in any field

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
INTEGERS = st.integers(-(2**63), 2**63 - 1)
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | INTEGERS | st.floats(allow_nan=False, allow_infinity=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
_STRATEGIES: Mapping[Any, st.SearchStrategy[Any]] = {
    str: TEXT,
    bool: st.booleans(),
    int: INTEGERS,
    float: st.floats(allow_nan=False, allow_infinity=False),
    Any: JSON,
    Amounts: st.builds(
        Amounts, st.dictionaries(TEXT, INTEGERS | st.floats(-1e300, 1e300), max_size=3)
    ),
}


def any_of(hint: Any) -> st.SearchStrategy[Any]:
    """Any possible value of a type."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        bounds = next(part for part in parts if isinstance(part, Bounds))
        return _bounded(parts[0], bounds)
    if origin in {Union, UnionType}:
        return st.one_of(*(st.none() if part is NoneType else any_of(part) for part in parts))
    if origin is tuple:
        several = st.lists(any_of(parts[0]), max_size=3).map(tuple)
        return several if ... in parts else st.tuples(*map(any_of, parts))
    if origin in {dict, Mapping}:
        return st.dictionaries(any_of(parts[0]), any_of(parts[1]), max_size=2)
    if attrs.has(hint):
        hints = get_type_hints(hint, include_extras=True)
        kept = [field for field in attrs.fields(hint) if field.eq]
        fields = {field.alias: any_of(hints[field.name]) for field in kept}
        return st.builds(hint, **fields).map(_POSSIBLE.get(hint, lambda value: value))
    is_enum = isinstance(hint, enum.EnumMeta)
    return st.sampled_from(list(hint)) if is_enum else _STRATEGIES[hint]


def _bounded(kind: type, bounds: Bounds) -> st.SearchStrategy[Any]:
    if kind is int:
        return st.integers(int(bounds.least or 0), int(bounds.most or 2**63 - 1))
    least = bounds.least if bounds.above is None else bounds.above
    numbers = st.floats(least, bounds.most, allow_nan=False, allow_infinity=False)
    return numbers.filter(bounds.hold)


def _possible_calls(functions: FunctionCosts) -> FunctionCosts:
    known = len(functions.costs)
    calls = functions.calls if known else ()
    return attrs.evolve(
        functions,
        calls=tuple(
            attrs.evolve(call, caller=call.caller % known, callee=call.callee % known)
            for call in calls
        ),
    )


_POSSIBLE: Mapping[Any, Callable[[Any], Any]] = {
    FunctionCosts: _possible_calls,
    TensorValue: lambda tensor: attrs.evolve(
        tensor, sample=base64.b64encode(tensor.sample.encode() * 8).decode()
    ),
    Record: lambda record: attrs.evolve(record, label=record.label or ("a",)),
}

RUNS: st.SearchStrategy[Run] = any_of(Run).map(
    lambda run: attrs.evolve(
        run, cases=tuple({record.identity: record for record in run.cases}.values())
    )
)
"""Runs that hold no case on one build twice, as real ones."""
