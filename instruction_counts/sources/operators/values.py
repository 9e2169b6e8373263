"""How tensors are drawn, in Python and in C++: the same values for the same seed.

Some dtypes have no random kernels in older builds, so values of these are drawn in float32 and
converted. A positive definite matrix is a·aᴴ/n + 1, a triangular one has ones on its diagonal; both
stay well-conditioned at any size.
"""

from __future__ import annotations

import math

from instruction_counts.core.types import Language
from instruction_counts.sources.operators.calls import Value
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

_PYTHON = {
    "normal": "{name} = torch.randn({shape}{drawn}){cast}",
    "uniform": "{name} = (torch.rand({shape}{drawn}) * {width} + {low}){cast}",
    "integers": "{name} = torch.randint({low}, {high}, {shape}){integral}",
    "bernoulli": "{name} = torch.randint(0, 2, {shape}).to({dtype})",
    "zeros": "{name} = torch.zeros({shape}{kind})",
    "ones": "{name} = torch.ones({shape}{kind})",
    "arange": "{name} = torch.arange({count}).reshape({shape}).to({dtype})",
    "permutation": "{name} = torch.randperm({count}).reshape({shape}).to({dtype})",
    "sorted": "{name} = torch.randn({shape}{drawn}).sort(-1)[0]{cast}",
    "positive_definite": (
        "{name} = torch.randn({shape}{drawn})\n"
        "{name} = ({name} @ {name}.transpose(-2, -1).conj() / {last} + torch.eye({last}))"
        "{cast}"
    ),
    "lower_triangular": (
        "{name} = (torch.randn({shape}{drawn}).tril(-1) / {last} + torch.eye({last})){cast}"
    ),
}

_CPP = {
    "normal": "auto {name} = torch::randn({shape}{drawn}){cast};",
    "uniform": "auto {name} = (torch::rand({shape}{drawn}) * {width} + {low}){cast};",
    "integers": "auto {name} = torch::randint({low}, {high}, {shape}, torch::kInt64){integral};",
    "bernoulli": "auto {name} = torch::randint(0, 2, {shape}, torch::kInt64).to({dtype});",
    "zeros": "auto {name} = torch::zeros({shape}{kind});",
    "ones": "auto {name} = torch::ones({shape}{kind});",
    "arange": "auto {name} = torch::arange({count}).reshape({shape}).to({dtype});",
    "permutation": (
        "auto {name} = torch::randperm({count}, torch::kInt64).reshape({shape}).to({dtype});"
    ),
    "sorted": "auto {name} = std::get<0>(torch::randn({shape}{drawn}).sort(-1)){cast};",
    "positive_definite": (
        "auto {name} = torch::randn({shape}{drawn});\n"
        "{name} = ({name}.matmul({name}.transpose(-2, -1).conj()) / {last} + torch::eye({last}))"
        "{cast};"
    ),
    "lower_triangular": (
        "auto {name} = (torch::randn({shape}{drawn}).tril(-1) / {last} + torch::eye({last})){cast};"
    ),
}


def drawn(value: Value, language: Language) -> str:
    """The lines that make a tensor."""
    is_cpp = language is Language.CPP
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
    text = (_CPP if is_cpp else _PYTHON)[distribution.name].format(
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
        integral="" if value.dtype == "int64" else f".to({dtype})",
    )
    if not value.requires_grad:
        return text
    return f"{text}\n{value.name}.requires_grad_(){';' if is_cpp else ''}"


def _cpp_sizes(shape: tuple[int, ...]) -> str:
    return f"{{{', '.join(map(str, shape))}}}" if shape else "at::IntArrayRef()"
