"""A call in C++: derived from the schema that torch publishes, so that one entry serves both.

The C++ function of a schema has its arguments in the schema's order and no names, so whatever
stands before the last argument that is given is written out with its default.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import attrs

from instruction_counts.sources.operators.calls import Call, Ref
from instruction_counts.sources.operators.catalogue import Argument, Schema, Schemas, native_name
from instruction_counts.sources.operators.code import CPP_DTYPES

_LISTS = {"Tensor": "at::TensorList", "int": "at::IntArrayRef"}


@attrs.frozen
class Underivable:
    """Why there is no C++ text."""

    reason: str


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
    name = native_name(entry.name)
    for schema in schemas.get(name, ()):
        bound = _bind(schema, call)
        if bound is not None and entry.overload in {None, schema.overload}:
            text = _called(call, schema, bound)
            if entry.output is None:
                return text
            is_tuple = len(schema.returns) > 1
            return f"std::get<{entry.output}>({text})" if is_tuple else f"{text}[{entry.output}]"
    return Underivable(f"no schema of aten::{name} fits its arguments")


# Which schema


def _bind(schema: Schema, call: Call) -> dict[str, Any] | None:
    """The arguments by the schema's names, as Python would bind them; None where they do not."""
    known = {argument.name: argument for argument in schema.arguments}
    places = [argument.name for argument in schema.arguments if not argument.kwarg_only]
    written = [argument.name for argument in schema.arguments if argument.is_write]
    bound = dict(zip(places, call.positional, strict=False)) | dict(call.keywords)
    is_called = (
        len(bound) == len(call.positional) + len(call.keywords)  # each is named once
        and bound.keys() <= known.keys()
        and all(argument.has_default or argument.name in bound for argument in schema.arguments)
        and all(_fits(known[name].type, value) for name, value in bound.items())
    )
    # A schema that changes what the operator leaves as it is is an overload for ``out``.
    return bound if is_called and not written[1 if call.entry.in_place else 0 :] else None


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
        "str": isinstance(value, str) and not value.startswith("torch."),
    }.get(kind, False)


# Its text


def _called(call: Call, schema: Schema, bound: Mapping[str, Any]) -> str:
    def text(argument: Argument) -> str:
        default = argument.default
        default = tuple(default) if isinstance(default, list) else default
        return _plain(bound.get(argument.name, default), argument.type)

    kept = list(schema.arguments)
    while kept and kept[-1].name not in bound:
        kept.pop()
    arguments = [text(argument) for argument in kept]
    if call.entry.is_method:
        receiver = arguments.pop(0)
        return f"{receiver}.{schema.name}({', '.join(arguments)})"
    return f"torch::{schema.name}({', '.join(arguments)})"


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
    return f"{_LISTS[kind]}({{{texts}}})" if values else f"{_LISTS[kind]}()"


def _word(value: str) -> str:
    name = value.removeprefix("torch.")
    if value.startswith("torch.") or name in CPP_DTYPES:
        return CPP_DTYPES[name]
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _float(value: float) -> str:
    return {math.inf: "INFINITY", -math.inf: "-INFINITY"}.get(value, repr(value))
