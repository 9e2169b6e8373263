"""Whole values from YAML and JSON files: cattrs makes them, and problems keep their places."""

from __future__ import annotations

import contextlib
import enum
import functools
import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import attrs
import cattrs
from cattrs import cols
from cattrs.gen import make_dict_structure_fn

from core.modes import Mode, by_option
from core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.errors import DataError, ValidationError
from instruction_counts.reading.documents import HALF, is_json, read, read_text
from instruction_counts.reading.nodes import Node, one_of

T = TypeVar("T")
Steps = tuple[str | int, ...]


class Mismatch(ValueError):  # noqa: N818 - a hook's finding, which gets its place later
    """A value is not what was expected; ``at`` leads from where it was read to the value."""

    def __init__(self, expected: str, found: str | None = None, at: Steps = ()) -> None:
        super().__init__(expected, found, at)
        self.expected, self.found, self.at = expected, found, at


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
    if as_json or (as_json is None and is_json(path)):
        # It may be large, and is read without places as long as it is right.
        with contextlib.suppress(*_WRONG, DataError, RecursionError):
            return converter.structure(_plain(read_text(path)), kind)
    return structured(read(path, remedy, as_json=as_json), kind, converter, remedy)


def structured(node: Node, kind: type[T], converter: cattrs.Converter, remedy: str = "") -> T:
    """The value of class ``kind`` that a part of a file holds.

    Raises:
        ValidationError: it holds something else; all of it is named.
    """
    try:
        return converter.structure(node.plain, kind)
    except _WRONG as error:
        problems = [
            node.below(steps).problem(expected, found)
            for steps, expected, found in _flat(error, ())
        ]
        raise ValidationError(problems, remedy) from error


_WRONG = (cattrs.BaseValidationError, ValueError, TypeError, KeyError)


def _plain(text: str) -> Any:
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Mismatch("unique names")
    return found


def _flat(error: BaseException, steps: Steps) -> Iterator[tuple[Steps, str, str | None]]:
    """Where each problem lies, what was expected there, and what was found if that is special."""
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, cattrs.AttributeValidationNote):
            steps = (*steps, note.name)
        elif isinstance(note, cattrs.IterableValidationNote):
            steps = (*steps, note.index)
    if isinstance(error, BaseExceptionGroup):
        for below in error.exceptions:
            yield from _flat(below, steps)
    elif isinstance(error, Mismatch):
        yield (*steps, *error.at), error.expected, error.found
    elif isinstance(error, cattrs.ForbiddenExtraKeysError):
        known = [field.name for field in attrs.fields(error.cl)]
        for name in sorted(error.extra_fields):
            yield (*steps, name), one_of(known, name), f'a field "{name}"'
    elif isinstance(error, KeyError):
        yield steps[:-1], f'a field "{error.args[0]}"', "none"
    else:
        yield steps, str(error), None


def require_version(
    converter: cattrs.Converter, kind: type[attrs.AttrsInstance], field: str, supported: int
) -> None:
    """Let values of ``kind`` be read only from mappings whose ``field`` says ``supported``.

    The version is checked first: a file of another version is refused for that reason alone.
    """
    plain = converter.get_structure_hook(kind)

    def checked(data: Any, kind: Any) -> Any:
        _check_version(data, field, supported)
        return plain(data, kind)

    converter.register_structure_hook(kind, checked)


def _check_version(data: Any, field: str, supported: int) -> None:
    if not isinstance(data, dict):
        raise Mismatch("a mapping")
    if field not in data:
        raise Mismatch(f'a field "{field}"', "none")
    if type(data[field]) is not int or data[field] != supported:
        raise Mismatch(f"{supported}, the only supported version", at=(field,))


def ignore_other_fields(converter: cattrs.Converter, kind: type[attrs.AttrsInstance]) -> None:
    """Let values of ``kind`` be read from mappings that hold more than their fields."""
    lenient = functools.partial(make_dict_structure_fn, _cattrs_forbid_extra_keys=False)
    converter.register_structure_hook(kind, _guarded(dict, "a mapping", lenient)(kind, converter))


def strict_converter() -> cattrs.Converter:
    """A converter that takes no value for another one, and no unknown keys.

    Modes are spelled as options are.
    """
    converter = cattrs.Converter(forbid_extra_keys=True)
    for kind, name in ((str, "a string"), (int, "a whole number"), (bool, "true or false")):
        converter.register_structure_hook(kind, functools.partial(_scalar, name))
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook_factory(_is_enum, lambda _: _member)
    for mode in (Language, RuntimeMode, AutogradMode):
        converter.register_structure_hook(mode, _mode)
        converter.register_unstructure_hook(mode, lambda mode: mode.option)
    strict = functools.partial(make_dict_structure_fn, _cattrs_forbid_extra_keys=True)
    for is_meant, plain, expected, make in (
        (attrs.has, dict, "a mapping", strict),
        (cols.is_mapping, dict, "a mapping", cols.mapping_structure_factory),
        (cols.is_sequence, list, "a list", cols.list_structure_factory),
        (_is_tuple, list, "a list", cols.homogenous_tuple_structure_factory),
    ):
        converter.register_structure_hook_factory(is_meant, _guarded(plain, expected, make))
    return converter


def _is_tuple(kind: Any) -> bool:
    return getattr(kind, "__origin__", None) is tuple and kind.__args__[1:] == (...,)


def _scalar(expected: str, value: Any, kind: Any) -> Any:
    if type(value) is not kind:
        raise Mismatch(expected)
    if kind is str and HALF.search(value):  # no file takes it again
        raise Mismatch(expected, "an unpaired surrogate")
    return value


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, enum.Enum)


def _member(value: Any, kind: Any) -> Any:
    try:
        return kind(value)
    except ValueError:
        raise Mismatch(one_of([str(member.value) for member in kind], value)) from None


def _mode(value: Any, kind: type[Mode]) -> Mode:
    names = by_option(kind)
    if not isinstance(value, str) or value not in names:
        raise Mismatch(one_of(names, value))
    return names[value]


def _number(value: Any, _: Any) -> float:
    if type(value) not in {int, float} or not math.isfinite(value):
        raise Mismatch("a number")
    return float(value)


def _guarded(plain: type, expected: str, make: Callable[..., Any]) -> Callable[..., Any]:
    def factory(kind: Any, converter: cattrs.Converter) -> Any:
        inner = make(kind, converter)

        def hook(value: Any, kind: Any) -> Any:
            if not isinstance(value, plain):
                raise Mismatch(expected)
            return inner(value, kind)

        return hook

    return factory
