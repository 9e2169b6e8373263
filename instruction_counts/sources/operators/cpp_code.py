"""A call in C++: derived from the schema that torch publishes, so that one entry serves both.

The C++ function of a schema has its arguments in the schema's order and no names, so whatever
stands before the last argument that is given is written out with its default. dtype, layout, device
and pin_memory are one argument there, the options.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs

from instruction_counts.core.types import Language
from instruction_counts.sources.operators.calls import Call, Ref
from instruction_counts.sources.operators.catalogue import Argument, Schema, Schemas, native_name
from instruction_counts.sources.operators.values import CPP_DTYPES, drawn

_OPTIONS = ("dtype", "layout", "device", "pin_memory")
_OBJECTS = {
    "torch.channels_last": "torch::MemoryFormat::ChannelsLast",
    "torch.channels_last_3d": "torch::MemoryFormat::ChannelsLast3d",
    "torch.contiguous_format": "torch::MemoryFormat::Contiguous",
    "torch.preserve_format": "torch::MemoryFormat::Preserve",
    "torch.strided": "torch::kStrided",
    "torch.sparse_coo": "torch::kSparse",
}
_LISTS = {
    "Tensor": "at::TensorList",
    "int": "at::IntArrayRef",
    "float": "at::ArrayRef<double>",
    "number": "at::ArrayRef<at::Scalar>",
    "bool": "std::array",
}
_NOTHING = object()


@attrs.frozen
class Underivable:
    """Why there is no C++ text."""

    reason: str


def setup(call: Call, expression: str) -> str:
    """C++ that makes the tensors of ``call`` with the values that Python draws."""
    lines = [f"torch::manual_seed({call.seed});"]
    lines += [drawn(value, Language.CPP) for value in call.values]
    if call.differentiates:
        lines.append(f"auto gradient = torch::ones_like({expression});")
    return "\n".join(lines)


def expression(call: Call, schemas: Schemas) -> str | Underivable:
    """The call, from the schema that fits its arguments.

    ``schemas`` holds all overloads by name.
    """
    entry = call.entry
    if isinstance(entry.cpp, str):
        return entry.cpp
    if entry.cpp is False:
        return Underivable(entry.note or "the entry states that there is none")
    if entry.python is not None:
        return Underivable("the entry has Python code of its own, so it needs C++ code, too")
    fitting = _fitting(call, schemas)
    if fitting is not None:
        schema, bound = fitting
        return _selected(_called(call, schema, bound), schema, entry.output)
    name = native_name(entry.name)
    known = ", ".join(schema.full_name for schema in schemas.get(name, ())) or "none"
    return Underivable(f"no schema of aten::{name} fits its arguments ({known})")


# ---------------------------------------------------------------------------------------------
# Which schema
# ---------------------------------------------------------------------------------------------


def _fitting(call: Call, schemas: Schemas) -> tuple[Schema, dict[str, Any]] | None:
    for schema in schemas.get(native_name(call.entry.name), ()):
        bound = _bind(schema, call)
        if bound is not None and call.entry.overload in {None, schema.overload}:
            return schema, bound
    return None


def _bind(schema: Schema, call: Call) -> dict[str, Any] | None:
    """The arguments by the schema's names, as Python would bind them; None where they do not."""
    places = [argument for argument in schema.arguments if not argument.kwarg_only]
    if len(call.positional) > len(places) or _writes(schema, call):
        return None
    bound = {place.name: value for place, value in zip(places, call.positional, strict=False)}
    for name, value in call.keywords.items():
        if name in bound:
            return None
        bound[name] = value
    known = {argument.name: argument for argument in schema.arguments}
    if not bound.keys() <= known.keys():
        return None
    if any(
        not argument.has_default and argument.name not in bound for argument in schema.arguments
    ):
        return None
    if all(_fits(known[name].type, value) for name, value in bound.items()):
        return bound
    return None


def _writes(schema: Schema, call: Call) -> bool:
    """Whether the schema changes what the operator leaves as it is: an overload for ``out``."""
    written = [argument.name for argument in schema.arguments if argument.is_write]
    return bool(written[1 if call.entry.in_place else 0 :])


def _fits(kind: str, value: Any) -> bool:
    if kind.startswith("Optional["):
        return value is None or _fits(kind[9:-1], value)
    if kind.startswith("List["):
        below = kind[5:-1]
        if below not in _LISTS:
            return False
        # A single int stands for a list of one, or of equal ones.
        if isinstance(value, tuple):
            return all(_fits(below, item) for item in value)
        return below == "int" and _fits(below, value)
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return {
        "Tensor": isinstance(value, Ref),
        "int": type(value) is int,
        "float": is_number,
        "number": is_number,
        "bool": isinstance(value, bool),
        "ScalarType": isinstance(value, str) and value.removeprefix("torch.") in CPP_DTYPES,
        "MemoryFormat": isinstance(value, str) and value in _OBJECTS,
        "Layout": value in {"torch.strided", "torch.sparse_coo"},
        "str": isinstance(value, str) and not value.startswith("torch."),
    }.get(kind, False)


# ---------------------------------------------------------------------------------------------
# Its text
# ---------------------------------------------------------------------------------------------


def _called(call: Call, schema: Schema, bound: Mapping[str, Any]) -> str:
    arguments = []
    waiting: list[Argument] = []  # their defaults are written only if something follows
    for option in _with_options(schema.arguments):
        value = _value_of(option, bound)
        if value is _NOTHING:
            waiting.append(option)
            continue
        arguments += [*(_text(before, _NOTHING) for before in waiting), _text(option, value)]
        waiting = []
    if call.entry.is_method:
        receiver = arguments.pop(0)
        return f"{receiver}.{schema.name}({', '.join(arguments)})"
    return f"torch::{schema.name}({', '.join(arguments)})"


def _with_options(arguments: Sequence[Argument]) -> list[Argument]:
    """The arguments, with the four that C++ takes as one put together."""
    if not all(name in {argument.name for argument in arguments} for name in _OPTIONS):
        return list(arguments)
    kept = [argument for argument in arguments if argument.name not in _OPTIONS[1:]]
    return [
        attrs.evolve(argument, type="Options") if argument.name == "dtype" else argument
        for argument in kept
    ]


def _value_of(argument: Argument, bound: Mapping[str, Any]) -> Any:
    if argument.type == "Options":
        given = {name: bound[name] for name in _OPTIONS if bound.get(name) is not None}
        return given or _NOTHING
    return bound.get(argument.name, _NOTHING)


def _text(argument: Argument, value: Any) -> str:
    if argument.type == "Options":
        parts = {} if value is _NOTHING else value
        text = "torch::TensorOptions()"
        for name, part in parts.items():
            text += f".{name}({_plain(part, 'ScalarType' if name == 'dtype' else 'Layout')})"
        return text
    if value is _NOTHING:
        default = argument.default
        value = tuple(default) if isinstance(default, list) else default
    return _plain(value, argument.type)


def _plain(value: Any, kind: str) -> str:  # noqa: PLR0911 - one for each kind
    if value is None:
        return "c10::nullopt" if kind != "Tensor" else "torch::Tensor()"
    kind = kind.removeprefix("Optional[").removesuffix("]") if "Optional[" in kind[:9] else kind
    if isinstance(value, Ref):
        return value.name
    if kind.startswith("List["):
        return _list(value if isinstance(value, tuple) else (value,), kind[5:].removesuffix("]"))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _word(value)
    if kind == "float" or isinstance(value, float):
        return _float(float(value))
    return str(value)


def _list(values: tuple[Any, ...], kind: str) -> str:
    texts = ", ".join(_plain(value, kind) for value in values)
    if _LISTS[kind] == "std::array":
        return f"std::array<bool, {len(values)}>{{{texts}}}"
    return f"{_LISTS[kind]}({{{texts}}})" if values else f"{_LISTS[kind]}()"


def _word(value: str) -> str:
    name = value.removeprefix("torch.")
    if value in _OBJECTS:
        return _OBJECTS[value]
    if value.startswith("torch.") or name in CPP_DTYPES:
        return CPP_DTYPES[name]
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _float(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    limits = "std::numeric_limits<double>"
    if math.isnan(value):
        return f"{limits}::quiet_NaN()"
    return f"{'-' if value < 0 else ''}{limits}::infinity()"


def _selected(text: str, schema: Schema, output: int | None) -> str:
    if output is None:
        return text
    if len(schema.returns) > 1:
        return f"std::get<{output}>({text})"
    return f"{text}[{output}]"
