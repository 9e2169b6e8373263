"""The code of a call in either language: how its tensors are drawn, and the call itself.

The same seed draws the same values in both languages. Some dtypes have no random kernels in older
builds, so values of these are drawn in float32 and converted. A positive definite matrix is
a·aᴴ/n + 1, a triangular one has ones on its diagonal; both stay well-conditioned at any size.

C++ is derived from the schema that torch publishes, so that one entry serves both languages. The
C++ function of a schema has its arguments in the schema's order and no names, so whatever stands
before the last argument that is given is written out with its default.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Any

from instruction_counts.core.errors import one_of
from instruction_counts.core.types import Language
from instruction_counts.sources.operators.calls import Call, Ref, Value
from instruction_counts.sources.operators.catalogue import Argument, Schema, Schemas, native_name
from instruction_counts.sources.operators.entries import COMPLEX, DEFAULT_DTYPE, DTYPES

CPP_DTYPES = {name: f"torch::k{name.capitalize()}" for name in DTYPES} | {
    "uint8": "torch::kUInt8",
    "bfloat16": "torch::kBFloat16",
    "complex64": "torch::kComplexFloat",
    "complex128": "torch::kComplexDouble",
}

_DRAWN = {
    "normal": "torch.randn({shape}{drawn}){cast}",
    "uniform": "(torch.rand({shape}{drawn}) * {width} + {low}){cast}",
    "integers": "torch.randint({low}, {high}, {shape}{long}){integral}",
    "bernoulli": "torch.randint(0, 2, {shape}{long}).to({dtype})",
    "zeros": "torch.zeros({shape}{kind})",
    "ones": "torch.ones({shape}{kind})",
    "arange": "torch.arange({count}).reshape({shape}).to({dtype})",
    "permutation": "torch.randperm({count}{long}).reshape({shape}).to({dtype})",
    "sorted": "torch.randn({shape}{drawn}).sort(-1)[0]{cast}",
    "positive_definite": (
        "torch.randn({shape}{drawn})\n"
        "{name} = ({name} @ {name}.transpose(-2, -1).conj() / {last} + torch.eye({last})){cast}"
    ),
    "lower_triangular": (
        "(torch.randn({shape}{drawn}).tril(-1) / {last} + torch.eye({last})){cast}"
    ),
}
_DRAWN_IN_CPP = {
    **{name: text.replace("torch.", "torch::") for name, text in _DRAWN.items()},
    "sorted": "std::get<0>(torch::randn({shape}{drawn}).sort(-1)){cast}",
    "positive_definite": (
        "torch::randn({shape}{drawn});\n"
        "{name} = ({name}.matmul({name}.transpose(-2, -1).conj()) / {last} + torch::eye({last}))"
        "{cast}"
    ),
}


def setup(call: Call, language: Language, expression: str) -> str:
    """The lines that make the tensors of ``call``, and the gradient of its output."""
    lines = drawn(call.values, call.seed, language, moved=bool(call.devices))
    if call.differentiates and language is Language.CPP:
        lines.append(f"auto gradient = torch::ones_like({expression});")
    elif call.differentiates:
        lines.append(f"gradient = torch.ones_like({expression})")
    return "\n".join(lines)


def drawn(
    values: Iterable[Value], seed: int, language: Language, *, moved: bool = False
) -> list[str]:
    """The lines that make tensors, the same for the same seed.

    If they are ``moved``, then to the device of a variable ``device``: drawn on the CPU, they are
    the same on each device.
    """
    is_cpp = language is Language.CPP
    first = f"torch::manual_seed({seed});" if is_cpp else f"torch.manual_seed({seed})"
    return [first, *(_drawn(value, is_cpp=is_cpp, moved=moved) for value in values)]


def _drawn(value: Value, *, is_cpp: bool, moved: bool) -> str:
    dtype = CPP_DTYPES[value.dtype] if is_cpp else f"torch.{value.dtype}"
    keyword = "" if is_cpp else "dtype="
    kind = "" if value.dtype == DEFAULT_DTYPE else f", {keyword}{dtype}"
    is_wide = value.dtype in {"float32", "float64", *COMPLEX}
    distribution, sizes = value.distribution, ", ".join(map(str, value.shape))
    cpp_shape = f"{{{sizes}}}" if sizes else "at::IntArrayRef()"
    text = (_DRAWN_IN_CPP if is_cpp else _DRAWN)[distribution.name].format(
        name=value.name,
        shape=cpp_shape if is_cpp else f"[{sizes}]",
        count=math.prod(value.shape),
        last=value.shape[-1] if value.shape else 1,
        dtype=dtype,
        kind=kind,
        drawn=kind if is_wide else "",
        cast="" if is_wide else f".to({dtype})",
        low=distribution.low,
        high=distribution.high,
        width=distribution.high - distribution.low,
        long=", torch::kInt64" if is_cpp else "",
        integral="" if value.dtype == "int64" else f".to({dtype})",
    )
    text += ".to(device)" if moved else ""
    gradient = f"\n{value.name}.requires_grad_()" if value.requires_grad else ""
    if is_cpp:
        return f"auto {value.name} = {text};{gradient}{';' if gradient else ''}"
    return f"{value.name} = {text}{gradient}"


# The call in Python


def expression(call: Call) -> str:
    """The call, and which part of what it returns is meant."""
    text = call.entry.python or _called(call)
    if call.entry.output is None:
        return text
    is_call = text.endswith(")") and " " not in text.partition("(")[0]
    return f"{text if is_call else f'({text})'}[{call.entry.output}]"


def _called(call: Call) -> str:
    positional = [_literal(value) for value in call.positional]
    keywords = [f"{name}={_literal(value)}" for name, value in call.keywords.items()]
    if call.creates and call.devices:
        keywords.append("device=device")
    name = call.entry.name
    if call.entry.is_method:
        name = f"{positional.pop(0)}.{name.removeprefix('Tensor.')}"
    return f"{name}({', '.join([*positional, *keywords])})"


def _literal(value: Any) -> str:
    """A value as Python writes it; a text that names an object of torch is that object."""
    if isinstance(value, Ref):
        return value.name
    if isinstance(value, tuple):
        return f"[{', '.join(map(_literal, value))}]"
    if isinstance(value, str) and value.startswith("torch."):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)


# The call in C++

_LISTS = {"Tensor": "at::TensorList", "int": "at::IntArrayRef"}


def cpp_expression(call: Call, schemas: Schemas) -> tuple[str, str]:
    """The call, from the schema that fits its arguments; without one empty, and the reason."""
    entry = call.entry
    if call.creates and call.devices:
        return "", "derived C++ does not say on which device a tensor is made"
    if isinstance(entry.cpp, str):
        return entry.cpp, ""
    if entry.cpp is False:
        return "", entry.note or "the entry states that there is none"
    if entry.python is not None:
        return "", "the entry has Python code of its own, so it needs C++ code, too"
    name = native_name(entry.name)
    for schema in schemas.get(name, ()):
        bound = _bind(schema, call)
        if bound is not None and entry.overload in {None, schema.overload}:
            text = _cpp_called(call, schema, bound)
            if entry.output is not None:
                is_tuple = len(schema.returns) > 1
                text = (
                    f"std::get<{entry.output}>({text})" if is_tuple else f"{text}[{entry.output}]"
                )
            return text, ""
    return "", _without_schema(call, name, schemas)


def _without_schema(call: Call, name: str, schemas: Schemas) -> str:
    known = {argument.name for each in schemas.get(name, ()) for argument in each.arguments}
    unknown = [keyword for keyword in call.keywords if keyword not in known]
    if name not in schemas:
        return f"torch has no aten::{name}"
    if unknown:
        return f"aten::{name} has no argument {unknown[0]}: {one_of(sorted(known), unknown[0])}"
    return f"no schema of aten::{name} fits its arguments"


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


def _cpp_called(call: Call, schema: Schema, bound: Mapping[str, Any]) -> str:
    def text(argument: Argument) -> str:
        default = argument.default
        default = tuple(default) if isinstance(default, list) else default
        return _cpp_value(bound.get(argument.name, default), argument.type)

    kept = list(schema.arguments)
    while kept and kept[-1].name not in bound:
        kept.pop()
    arguments = [text(argument) for argument in kept]
    if call.entry.is_method:
        receiver = arguments.pop(0)
        return f"{receiver}.{schema.name}({', '.join(arguments)})"
    return f"torch::{schema.name}({', '.join(arguments)})"


def _cpp_value(value: Any, kind: str) -> str:  # noqa: PLR0911 - one for each kind
    if value is None:
        return "c10::nullopt" if kind != "Tensor" else "torch::Tensor()"
    kind = kind.removeprefix("Optional[").removesuffix("]") if "Optional[" in kind[:9] else kind
    if isinstance(value, Ref):
        return value.name
    if kind.startswith("List["):
        kind, parts = kind[5:].removesuffix("]"), value if isinstance(value, tuple) else (value,)
        texts = ", ".join(_cpp_value(part, kind) for part in parts)
        return f"{_LISTS[kind]}({{{texts}}})" if parts else f"{_LISTS[kind]}()"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        name = value.removeprefix("torch.")
        if value.startswith("torch.") or name in CPP_DTYPES:
            return CPP_DTYPES[name]
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f'"{escaped}"'
    if isinstance(value, float) and not math.isfinite(value):
        return {"nan": "NAN", "inf": "INFINITY", "-inf": "-INFINITY"}[repr(value)]
    if kind == "float" or isinstance(value, float):
        return repr(float(value))
    return str(value)
