"""A converter that takes no value for another one: the hooks of cattrs for `structure`."""

from __future__ import annotations

import contextlib
import enum
import functools
import json
import math
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import attrs
import cattrs
from cattrs import cols
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn

from instruction_counts.core.labels import Mode, by_option
from instruction_counts.core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.bounds import INTEGER, Bounds
from instruction_counts.reading.documents import HALF
from instruction_counts.reading.forms import ALONE, INLINE, Check, Mismatch, Parsed
from instruction_counts.reading.nodes import one_of

_folder: ContextVar[Path] = ContextVar("folder")


@contextlib.contextmanager
def paths_from(folder: Path) -> Iterator[None]:
    """Let paths that are read meanwhile be relative to ``folder``."""
    token = _folder.set(folder)
    try:
        yield
    finally:
        _folder.reset(token)


def require_version(
    converter: cattrs.Converter, kind: type[attrs.AttrsInstance], field: str, supported: int
) -> None:
    """Let values of ``kind`` be read only from mappings whose ``field`` says ``supported``.

    The version is checked first: a file of another version is refused for that reason alone.
    """
    plain = converter.get_structure_hook(kind)
    is_kept = field in names_of(kind)

    def checked(data: Any, kind: Any) -> Any:
        if not isinstance(data, dict):
            raise Mismatch("a mapping")
        if field not in data:
            raise Mismatch(f'a field "{field}"', "none")
        if type(data[field]) is not int or data[field] != supported:
            raise Mismatch(f"{supported}, the only supported version", at=(field,))
        rest = {name: value for name, value in data.items() if is_kept or name != field}
        return plain(rest, kind)

    converter.register_structure_hook(kind, checked)


def ignore_other_fields(converter: cattrs.Converter, kind: type[attrs.AttrsInstance]) -> None:
    """Let values of ``kind`` be read from mappings that hold more than their fields."""
    converter.register_structure_hook(kind, _class_hook(kind, converter, is_strict=False))


def strict_converter() -> cattrs.Converter:
    """A converter for what `instruction_counts.reading.structure` describes."""
    converter = cattrs.Converter(forbid_extra_keys=True, use_alias=True)
    for kind, name in ((str, "a string"), (bool, "true or false")):
        converter.register_structure_hook(kind, functools.partial(_scalar, name))
    converter.register_structure_hook(int, _integer)
    converter.register_structure_hook(float, finite_number)
    converter.register_structure_hook(Path, _path)
    converter.register_unstructure_hook(Path, str)
    converter.register_structure_hook_factory(_is_enum, lambda _: _member)
    for mode in (Language, RuntimeMode, AutogradMode):
        converter.register_structure_hook(mode, _mode)
        converter.register_unstructure_hook(mode, lambda mode: mode.option)
    for is_meant, plain, expected, make in (
        (cols.is_mapping, dict, "a mapping", cols.mapping_structure_factory),
        (cols.is_sequence, list, "a list", cols.list_structure_factory),
        (_is_tuple, list, "a list", cols.homogenous_tuple_structure_factory),
    ):
        converter.register_structure_hook_factory(is_meant, _guarded(plain, expected, make))
    converter.register_structure_hook_factory(attrs.has, _class_hook)
    converter.register_structure_hook_factory(_is_literal, lambda _: _literal)
    converter.register_structure_hook_factory(_is_union, _union_hook)
    converter.register_structure_hook_factory(_is_annotated, _annotated_hook)
    converter.register_unstructure_hook_factory(_has_inline, _flattening)
    return converter


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple and get_args(kind)[1:] == (...,)


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, enum.Enum)


def _is_literal(kind: Any) -> bool:
    return get_origin(kind) is Literal


def _is_annotated(kind: Any) -> bool:
    return get_origin(kind) is Annotated


def _is_union(kind: Any) -> bool:
    return get_origin(kind) in {Union, types.UnionType}


def is_inline(kind: Any) -> bool:
    """Whether the fields of a class stand among those around them."""
    return _is_annotated(kind) and INLINE in kind.__metadata__


def _scalar(expected: str, value: Any, kind: Any) -> Any:
    if type(value) is not kind:
        raise Mismatch(expected)
    if kind is str and not value.isascii() and HALF.search(value):  # no file takes it again
        raise Mismatch(expected, "an unpaired surrogate")
    return value


def _integer(value: Any, _: Any) -> int:
    if type(value) is not int:
        raise Mismatch("a whole number")
    if not INTEGER.hold(value):
        raise Mismatch("a whole number of at most 64 bits", f"{value.bit_length() + 1} bits")
    return value


def finite_number(value: Any, _: Any = None) -> float:
    """A finite number."""
    try:
        if type(value) in {int, float} and math.isfinite(value):
            return float(value)
    except OverflowError:  # an integer that no float can be
        pass
    raise Mismatch("a number")


def _path(value: Any, _: Any) -> Path:
    if not isinstance(value, str) or not value.strip():
        raise Mismatch("a non-empty string")
    if "\0" in value:
        raise Mismatch("a path without null characters")
    try:
        return _folder.get(Path()) / Path(value).expanduser()
    except RuntimeError:
        raise Mismatch("a path in a home directory that exists") from None


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


def _literal(value: Any, kind: Any) -> Any:
    known = get_args(kind)
    if not any(type(value) is type(one) and value == one for one in known):
        raise Mismatch(one_of([_as_written(one) for one in known], value))
    return value


def _as_written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _guarded(plain: type, expected: str, make: Callable[..., Any]) -> Callable[..., Any]:
    def factory(kind: Any, converter: cattrs.Converter) -> Any:
        inner = make(kind, converter)

        def hook(value: Any, kind: Any) -> Any:
            if not isinstance(value, plain):
                raise Mismatch(expected)
            return inner(value, kind)

        return hook

    return factory


def bounds_of(kind: Any) -> Bounds | None:
    """What a number of an annotated type has to be, where that says so."""
    notes = get_args(kind)[1:] if _is_annotated(kind) else ()
    return next((note for note in notes if isinstance(note, Bounds)), None)


def _annotated_hook(kind: Any, converter: cattrs.Converter) -> Any:
    plain, *notes = get_args(kind)
    parsed = next((note for note in notes if isinstance(note, Parsed)), None)
    inner = parsed or converter.get_structure_hook(plain)
    checks = [note for note in notes if isinstance(note, Check)]
    if bounds := bounds_of(kind):
        name = "a whole number" if plain is int else "a number"
        checks.append(Check(bounds.hold, f"{name}, {bounds}"))
    is_scalar = plain in {str, int, float, bool}
    is_alone = ALONE in notes

    def hook(value: Any, _: Any) -> Any:
        if is_alone and not isinstance(value, list):
            value = [value]
        try:
            found = inner(value, plain)
        except Mismatch as error:
            if checks and is_scalar and error.found is None:
                raise checks[0].mismatch(value) from None
            raise
        for check in checks:
            if not check.holds(found):
                raise check.mismatch(value)
        return found

    return hook


# Unions


def _union_hook(kind: Any, converter: cattrs.Converter) -> Any:
    """Takes the first member that has the form of the value."""
    members = [member for member in get_args(kind) if member is not types.NoneType]
    is_optional = len(members) < len(get_args(kind))
    hooks = [(_form(member), converter.get_structure_hook(member), member) for member in members]
    expected = ", or ".join(dict.fromkeys(name for (_, name), _, _ in hooks))

    def hook(value: Any, _: Any) -> Any:
        if value is None and is_optional:
            return None
        for (forms, _name), structure, member in hooks:
            is_meant = isinstance(value, forms) and (type(value) is not bool or bool in forms)
            if is_meant or len(hooks) == 1:  # whose own message says more
                return structure(value, member)
        raise Mismatch(expected)

    return hook


def _form(kind: Any) -> tuple[tuple[type, ...], str]:
    """The plain values that a type is written as, and what they are called."""
    plain, *notes = get_args(kind) if _is_annotated(kind) else (kind,)
    if ALONE in notes:
        alone, name = _form(get_args(plain)[0])
        return (*alone, list), f"{name}, or a list"
    if _is_literal(plain):
        known = get_args(plain)
        return tuple({type(one) for one in known}), " or ".join(map(_as_written, known))
    if attrs.has(plain) or cols.is_mapping(plain):
        return (dict,), "a mapping"
    if _is_tuple(plain) or cols.is_sequence(plain):
        return (list,), "a list"
    return _SCALARS.get(str if _is_enum(plain) else plain, ((object,), "another value"))


_SCALARS: Mapping[Any, tuple[tuple[type, ...], str]] = {
    str: ((str,), "a string"),
    Path: ((str,), "a string"),
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
}


# Classes


def names_of(kind: Any) -> Iterator[str]:
    """The fields of a class as files name them; those of what is inline stand for it."""
    inlined = _inlined(kind)
    for field in attrs.fields(kind):
        if not field.eq:  # no part of the value
            continue
        yield from inlined.get(field.name, [field.alias or field.name])


def _inlined(kind: Any) -> Mapping[str, Sequence[str]]:
    return {
        field.name: [part.alias or part.name for part in attrs.fields(get_args(field.type)[0])]
        for field in attrs.fields(attrs.resolve_types(kind))
        if is_inline(field.type)
    }


def _has_inline(kind: Any) -> bool:
    return isinstance(kind, type) and attrs.has(kind) and bool(_inlined(kind))


def _class_hook(kind: Any, converter: cattrs.Converter, *, is_strict: bool = True) -> Any:
    inlined = _inlined(kind)
    inner = make_dict_structure_fn(kind, converter, _cattrs_forbid_extra_keys=is_strict)

    def hook(value: Any, kind: Any) -> Any:
        if not isinstance(value, dict):
            raise Mismatch("a mapping")
        for name, parts in inlined.items():
            if is_strict and name in value:
                raise Mismatch(one_of(list(names_of(kind)), name), f'a field "{name}"', (name,))
            below = {part: value[part] for part in parts if part in value}
            value = {part: value[part] for part in value if part not in below} | {name: below}
        return inner(value, kind)

    return hook


def _flattening(kind: Any, converter: cattrs.Converter) -> Any:
    inlined = _inlined(kind)
    inner = make_dict_unstructure_fn(kind, converter)

    def hook(value: Any) -> dict[str, Any]:
        flat: dict[str, Any] = {}
        for name, below in inner(value).items():
            flat |= below if name in inlined else {name: below}
        return flat

    return hook
