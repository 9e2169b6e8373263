"""What ``schema.json`` asks of values beyond their types, as hooks of a converter."""

from __future__ import annotations

import binascii
import json
import re
import reprlib
import sys
from collections.abc import Callable, Collection
from typing import Any, TypeAlias

import attrs
import cattrs
from cattrs import AttributeValidationNote, ClassValidationError

from instruction_counts.domain.metrics import Amounts

Hook: TypeAlias = "Callable[[Any, Any], Any]"

_DOUBLE_BYTES = 8
_LARGEST = sys.float_info.max


class UnfitError(ValueError):
    """A value that the schema does not allow: what was expected, and what was found."""

    def __init__(self, expected: str, found: object) -> None:
        super().__init__(f"expected {expected}, found {reprlib.repr(found)}")


def reason(error: BaseException, kind: type | None) -> str:
    """Why a value was refused, as `cattrs.transform_error` asks for it."""
    return str(error) if isinstance(error, UnfitError) else cattrs.v.format_exception(error, kind)


def scalar(value: Any, kind: type) -> Any:
    """A text, a number, or true or false: cattrs would make 1 of "1", and True of "no"."""
    if type(value) is not kind and (kind, type(value)) != (float, int):
        raise UnfitError(kind.__name__, value)
    if kind is float and not -_LARGEST <= value <= _LARGEST:
        raise UnfitError("a number within the range of float", value)
    return kind(value)


def whole(least: int) -> Hook:
    """A whole number that is not below ``least``."""

    def structure(value: Any, _: Any) -> int:
        if scalar(value, int) < least:
            raise UnfitError(f"at least {least}", value)
        return int(value)

    return structure


def number(least: float, *, beyond: bool = False) -> Hook:
    """A number that is not below ``least``, or even ``beyond`` it."""

    def structure(value: Any, _: Any) -> float:
        found: float = scalar(value, float)
        if found < least or (beyond and found == least):
            raise UnfitError(f"{'more than' if beyond else 'at least'} {least:g}", value)
        return found

    return structure


def one_of(*allowed: str) -> Hook:
    """One of some texts."""

    def structure(value: Any, _: Any) -> str:
        if value not in allowed:
            raise UnfitError(" or ".join(allowed), value)
        return str(value)

    return structure


def matching(pattern: str, what: str) -> Hook:
    """A text that ``pattern`` matches as a whole."""
    compiled = re.compile(pattern)

    def structure(value: Any, _: Any) -> str:
        if not compiled.fullmatch(scalar(value, str)):
            raise UnfitError(what, value)
        return str(value)

    return structure


def filled(hook: Hook) -> Hook:
    """A list of ``hook`` that is not empty."""

    def structure(value: Any, kind: Any) -> Any:
        found = hook(value, kind)
        if not found:
            raise UnfitError("a list that is not empty", value)
        return found

    return structure


def doubles(value: Any, _: Any) -> str:
    """Numbers of 64 bits in base64."""
    text: str = scalar(value, str)
    try:
        data = binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise UnfitError("float64 in base64", value) from error
    if len(data) % _DOUBLE_BYTES:
        raise UnfitError("float64 in base64", value)
    return text


def amounts(value: Any, _: Any) -> Amounts:
    """Numbers by name."""
    if not isinstance(value, dict) or any(type(one) not in {int, float} for one in value.values()):
        raise UnfitError("an object of numbers", value)
    try:
        return Amounts(value)
    except ValueError as error:
        raise UnfitError("an object of numbers", value) from error


def counts(value: Any, _: Any) -> tuple[int, ...]:
    """Whole numbers, of which none is negative."""
    if not isinstance(value, list) or any(type(one) is not int or one < 0 for one in value):
        raise UnfitError("a list of numbers that are at least 0", value)
    return tuple(value)


def bounds(value: Any, _: Any) -> tuple[float, float] | None:
    """The two ends of an interval, or none."""
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != 2:
        raise UnfitError("a list of two numbers", value)
    low, high = (scalar(one, float) for one in value)
    return low, high


def json_object(value: Any, _: Any) -> dict[str, Any]:
    """An object with any values that can be written again."""
    if not isinstance(value, dict):
        raise UnfitError("an object", value)
    if value:
        try:
            json.dumps(value, allow_nan=False)
        except (ValueError, RecursionError) as error:
            raise UnfitError("what JSON can hold", value) from error
    return dict(value)


def complete(kind: type[attrs.AttrsInstance], names: Collection[str], hook: Hook) -> Hook:
    """``hook`` for objects that have all of ``names``: fields with a default are asked for, too."""
    required = frozenset(names)

    def structure(value: Any, asked: Any) -> Any:
        if not isinstance(value, dict) or required <= value.keys():
            return hook(value, asked)
        problems: list[Exception] = [_lacking(kind, one) for one in names if one not in value]
        try:
            hook(value, asked)
        except ClassValidationError as error:
            problems.extend(error.exceptions)
        raise ClassValidationError(f"While structuring {kind.__name__}", problems, kind)

    return structure


def _lacking(kind: type[attrs.AttrsInstance], name: str) -> KeyError:
    error = KeyError(name)
    note = f"Structuring class {kind.__qualname__} @ attribute {name}"
    error.__notes__ = [AttributeValidationNote(note, name, object)]
    return error
