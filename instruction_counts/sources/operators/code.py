"""The code of a call: how its tensors are drawn, in either language, and the call in Python.

The same seed draws the same values in both languages. Some dtypes have no random kernels in older
builds, so values of these are drawn in float32 and converted. A positive definite matrix is
a·aᴴ/n + 1, a triangular one has ones on its diagonal; both stay well-conditioned at any size.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from instruction_counts.core.types import Language
from instruction_counts.sources.operators.calls import Call, Ref, Value
from instruction_counts.sources.operators.entries import COMPLEX, DEFAULT_DTYPE

CPP_DTYPES = {
    "bool": "torch::kBool",
    "uint8": "torch::kUInt8",
    "int8": "torch::kInt8",
    "int16": "torch::kInt16",
    "int32": "torch::kInt32",
    "int64": "torch::kInt64",
    "float16": "torch::kFloat16",
    "bfloat16": "torch::kBFloat16",
    "float32": "torch::kFloat32",
    "float64": "torch::kFloat64",
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
    lines = drawn(call.values, call.seed, language)
    if call.differentiates and language is Language.CPP:
        lines.append(f"auto gradient = torch::ones_like({expression});")
    elif call.differentiates:
        lines.append(f"gradient = torch.ones_like({expression})")
    return "\n".join(lines)


def drawn(values: Iterable[Value], seed: int, language: Language) -> list[str]:
    """The lines that make tensors, the same for the same seed."""
    is_cpp = language is Language.CPP
    first = f"torch::manual_seed({seed});" if is_cpp else f"torch.manual_seed({seed})"
    return [first, *(_drawn(value, is_cpp=is_cpp) for value in values)]


def _drawn(value: Value, *, is_cpp: bool) -> str:
    dtype = CPP_DTYPES[value.dtype] if is_cpp else f"torch.{value.dtype}"
    keyword = "" if is_cpp else "dtype="
    kind = "" if value.dtype == DEFAULT_DTYPE else f", {keyword}{dtype}"
    is_wide = value.dtype in {"float32", "float64", *COMPLEX}
    distribution = value.distribution
    low, high = (
        (int(distribution.low), int(distribution.high))
        if distribution.name == "integers"
        else (distribution.low, distribution.high)
    )
    text = (_DRAWN_IN_CPP if is_cpp else _DRAWN)[distribution.name].format(
        name=value.name,
        shape=_cpp_sizes(value.shape) if is_cpp else list(value.shape),
        count=math.prod(value.shape),
        last=value.shape[-1] if value.shape else 1,
        dtype=dtype,
        kind=kind,
        drawn=kind if is_wide else "",
        cast="" if is_wide else f".to({dtype})",
        low=low,
        high=high,
        width=high - low,
        long=", torch::kInt64" if is_cpp else "",
        integral="" if value.dtype == "int64" else f".to({dtype})",
    )
    gradient = f"\n{value.name}.requires_grad_()" if value.requires_grad else ""
    if is_cpp:
        return f"auto {value.name} = {text};{gradient}{';' if gradient else ''}"
    return f"{value.name} = {text}{gradient}"


def _cpp_sizes(shape: tuple[int, ...]) -> str:
    return f"{{{', '.join(map(str, shape))}}}" if shape else "at::IntArrayRef()"


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
