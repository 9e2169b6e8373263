"""Whole values from YAML and JSON: frozen attrs classes say what a file holds, and cattrs reads it.

A class is the whole description of a form. `read_as` gives its value, or one `ValidationError` with
everything that is wrong in the file, each problem with field, what was found and what was expected,
in YAML with line and column, too. This is the one means of validation; nothing takes files apart by
hand::

    @attrs.frozen
    class File:
        benchmarks: Annotated[tuple[Entry, ...], Check(len, "at least one benchmark")]
        name: Text = ""                                # not blank; may be left out
        seed: Annotated[int, Bounds(0, LARGEST)] = 0
        dtypes: Several[Annotated[str, among(DTYPES)]] = attrs.field(default=(), alias="dtype")
        model: Path | None = None                      # relative to the folder of the file
        timeout: Annotated[float, Parsed(seconds_of)] = 60.0
        code: Text | Code = Code()                     # a string or a mapping

    converter = strict_converter()
    require_version(converter, File, "version", 1)     # File needs no field of that name
    file = read_as(path, File, converter, "See docs/….md.")

No value is taken for one of another type, unknown fields are refused with the nearest known name,
numbers are finite and fit in 64 bits, modes are spelled as options are. What spans several fields
is checked in ``__attrs_post_init__`` with `refuse`; what spans the whole file afterwards, by
`structured` and `located`.
"""

import enum
import functools
import json
import math
import types
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, Union, get_args, get_origin

import attrs
import cattrs
from cattrs import cols
from cattrs.gen import make_dict_structure_fn, make_dict_unstructure_fn, override

from instruction_counts.core.errors import one_of
from instruction_counts.core.labels import by_option
from instruction_counts.core.types import AutogradMode, Language, RuntimeMode
from instruction_counts.domain.bounds import INTEGER, Bounds
from instruction_counts.domain.errors import ValidationError
from instruction_counts.domain.metrics import Amounts
from instruction_counts.reading.documents import Node, Steps, read

T = TypeVar("T")

# What classes say of files


class Mismatch(ValueError):  # noqa: N818 - a finding, which gets its place later
    """A value is not what was expected; ``at`` leads from where it was read to the value."""

    def __init__(self, expected: str, found: str | None = None, at: Steps = ()) -> None:
        super().__init__(expected, found, at)
        self.expected, self.found, self.at = expected, found, at


def refuse(mismatches: Iterable[Mismatch]) -> None:
    """Raise all of them at once, if there are any."""
    found = tuple(mismatches)
    if found:
        raise ExceptionGroup("mismatches", found)


@attrs.frozen
class Check:
    """What a value has to fulfil beside its type: ``Annotated[int, Check(…)]``."""

    holds: Callable[[Any], object]
    expected: str | Callable[[Any], str]
    """As an error says it, or what makes it of the value."""

    def mismatch(self, value: Any) -> Mismatch:
        """That ``value`` does not fulfil it."""
        return Mismatch(self.expected if isinstance(self.expected, str) else self.expected(value))


@attrs.frozen
class Parsed:
    """A value that a function makes of the plain one; its ValueError says what is expected."""

    parse: Callable[[Any], Any]


def among(options: Collection[str]) -> Check:
    """For one of several words, which may become more; the nearest is offered."""
    return Check(lambda word: word in options, lambda word: one_of(options, word))


Text: TypeAlias = Annotated[str, Check(str.strip, "a non-empty string")]
ALONE = object()
Several: TypeAlias = Annotated[tuple[T, ...], ALONE]

# Reading

_folder: ContextVar[Path] = ContextVar("folder")
"""What paths that are read are relative to."""


def read_as(
    path: Path,
    kind: type[T],
    converter: cattrs.Converter,
    remedy: str = "",
    *,
    as_json: bool = False,
) -> T:
    """The value of class ``kind`` that a YAML or JSON file holds.

    Raises:
        DataError: the file cannot be read.
        ValidationError: it holds something else; all of it is named.
    """
    return structured(read(path, remedy, as_json=as_json), kind, converter)


def structured(
    node: Node, kind: type[T], converter: cattrs.Converter, *, folder: Path | None = None
) -> T:
    """The value of class ``kind`` that a part of a file holds.

    Paths are relative to ``folder``, which is usually that of the file.

    Raises:
        ValidationError: it holds something else; all of it is named.
    """
    token = _folder.set(Path(node.file).parent if folder is None else folder)
    try:
        return converter.structure(node.value, kind)
    except (ExceptionGroup, cattrs.BaseValidationError, ValueError, TypeError, KeyError) as error:
        raise located(node, _flat(error, ())) from error
    finally:
        _folder.reset(token)


def located(node: Node, mismatches: Iterable[Mismatch]) -> ValidationError:
    """The error that mismatches below a part of a file are."""
    return ValidationError(
        [node.below(*each.at).problem(each.expected, each.found) for each in mismatches],
        node.remedy,
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
        yield Mismatch(str(error).removeprefix("expected "), None, steps)


def _steps(error: BaseException, kind: Any) -> tuple[Steps, str | None]:
    """Where below the class or list around it an error is, and the key if it is one's."""
    steps: Steps = ()
    key: str | None = None
    for note in getattr(error, "__notes__", ()):
        if isinstance(note, cattrs.AttributeValidationNote):
            field = attrs.fields_dict(kind).get(note.name) if attrs.has(kind) else None
            steps = (*steps, note.name if field is None else field.alias or note.name)
        elif isinstance(note, cattrs.IterableValidationNote):
            steps = (*steps, note.index)
            key = f'"{note.index}"' if note.startswith("Structuring mapping key") else None
    return steps, key


# The converter


def require_version(converter: cattrs.Converter, kind: Any, field: str, supported: int) -> None:
    """Let values of ``kind`` be read only from mappings whose ``field`` says ``supported``.

    The version is checked first: a file of another version is refused for that reason alone.
    """
    plain = converter.get_structure_hook(kind)

    def checked(data: Any, kind: Any) -> Any:
        if isinstance(data, dict):
            if field not in data:
                raise Mismatch(f'a field "{field}"', "none")
            if type(data[field]) is not int or data[field] != supported:
                raise Mismatch(f"{supported}, the only supported version", at=(field,))
            data = {name: value for name, value in data.items() if name != field}
        return plain(data, kind)

    converter.register_structure_hook(kind, checked)


def strict_converter(*, other_fields: bool = False) -> cattrs.Converter:
    """A converter that takes no value for one of another type; see the top of this file.

    With ``other_fields``, mappings may hold more than the fields of their class.
    """
    converter = cattrs.Converter(forbid_extra_keys=not other_fields, use_alias=True)
    for kind, expected in ((str, "a string"), (bool, "true or false")):
        converter.register_structure_hook(kind, functools.partial(_scalar, expected))
    converter.register_structure_hook(int, _integer)
    converter.register_structure_hook(float, _number)
    converter.register_structure_hook(Path, _path)
    converter.register_unstructure_hook(Path, str)
    for mode in (Language, RuntimeMode, AutogradMode):
        converter.register_unstructure_hook(mode, lambda mode: mode.option)
    hooks: tuple[tuple[Callable[[Any], bool], Callable[..., Any]], ...] = (
        (cols.is_mapping, guarded(cols.mapping_structure_factory)),
        (cols.is_sequence, guarded(cols.list_structure_factory)),
        (_is_tuple, guarded(cols.homogenous_tuple_structure_factory)),
        (attrs.has, class_hook),
        (lambda kind: _is_enum(kind) or get_origin(kind) is Literal, lambda *_: _chosen),
        (lambda kind: get_origin(kind) in {Union, types.UnionType}, _union_hook),
        (lambda kind: get_origin(kind) is Annotated, _annotated_hook),
    )
    for applies, factory in hooks:
        converter.register_structure_hook_factory(applies, factory)
    converter.register_unstructure_hook_factory(
        attrs.has, lambda kind, _: make_dict_unstructure_fn(kind, converter, **_left_out(kind))
    )
    amounts = dict[str, int | float]
    converter.register_structure_hook(
        Amounts, lambda value, _: Amounts(converter.structure(value, amounts))
    )
    converter.register_unstructure_hook(Amounts, dict)
    return converter


def _is_tuple(kind: Any) -> bool:
    return get_origin(kind) is tuple and get_args(kind)[1:] == (...,)


def _is_enum(kind: Any) -> bool:
    return isinstance(kind, type) and issubclass(kind, enum.Enum)


def _scalar(expected: str, value: Any, kind: Any) -> Any:
    if type(value) is not kind:
        raise Mismatch(expected)
    return value


def _integer(value: Any, _: Any) -> int:
    if type(value) is not int:
        raise Mismatch("a whole number")
    if not INTEGER.hold(value):
        raise Mismatch("a whole number of at most 64 bits", f"{value.bit_length() + 1} bits")
    return value


def _number(value: Any, _: Any) -> float:
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


def _members(kind: Any) -> Mapping[Any, Any]:
    if kind in {Language, RuntimeMode, AutogradMode}:
        return by_option(kind)
    if get_origin(kind) is Literal:
        return {option: option for option in get_args(kind)}
    return {member.value: member for member in kind}


def _chosen(value: Any, kind: Any) -> Any:
    known = _members(kind)  # others can be registered later
    if isinstance(value, str | bool) and value in known:
        return known[value]
    raise Mismatch(one_of(list(map(_as_written, known)), value))


def _as_written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def guarded(make: Callable[..., Any]) -> Callable[..., Any]:
    """A factory of hooks that look at the form of a value first."""

    def factory(kind: Any, converter: cattrs.Converter) -> Any:
        inner = make(kind, converter)
        forms, expected = _form(kind)

        def hook(value: Any, kind: Any) -> Any:
            if not isinstance(value, forms):
                raise Mismatch(expected)
            return inner(value, kind)

        return hook

    return factory


def bounds_of(kind: Any) -> Bounds | None:
    """What a number of an annotated type has to be, where that says so."""
    notes = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return next((note for note in notes if isinstance(note, Bounds)), None)


def _annotated_hook(kind: Any, converter: cattrs.Converter) -> Any:
    plain, *notes = get_args(kind)
    parsed = next((note for note in notes if isinstance(note, Parsed)), None)
    inner = (
        converter.get_structure_hook(plain)
        if parsed is None
        else lambda value, _: parsed.parse(value)
    )
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


_SCALARS: Mapping[Any, tuple[tuple[type, ...], str]] = {
    str: ((str,), "a string"),
    Path: ((str,), "a string"),
    bool: ((bool,), "true or false"),
    int: ((int,), "a whole number"),
    float: ((int, float), "a number"),
}


def _form(kind: Any) -> tuple[tuple[type, ...], str]:
    """The plain values that a type is written as, and what they are called."""
    plain, *notes = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    if ALONE in notes:
        alone, name = _form(get_args(plain)[0])
        return (*alone, list), f"{name}, or a list"
    if get_origin(plain) is Literal:
        known = get_args(plain)
        return tuple(map(type, known)), " or ".join(map(_as_written, known))
    if attrs.has(plain) or cols.is_mapping(plain):
        return (dict,), "a mapping"
    if _is_tuple(plain) or cols.is_sequence(plain):
        return (list,), "a list"
    return _SCALARS.get(str if _is_enum(plain) else plain, ((object,), "another value"))


# Classes


def names_of(kind: Any) -> Iterator[str]:
    """The fields of a class as files name them."""
    for field in attrs.fields(kind):
        if field.eq:  # else it is no part of the value
            yield field.alias or field.name


@guarded
def class_hook(kind: Any, converter: cattrs.Converter) -> Any:
    """What reads the fields of a class of attrs."""
    return make_dict_structure_fn(kind, converter, **_left_out(kind))


def _left_out(kind: Any) -> dict[str, Any]:
    return {field.name: override(omit=True) for field in attrs.fields(kind) if not field.eq}
