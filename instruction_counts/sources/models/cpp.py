"""The C++ of a layer, for modules whose counterpart in torch::nn takes the same options."""

from __future__ import annotations

import json
from typing import Any

from instruction_counts.sources.models.layers import LayerInput, ModelLayer

_CONV = frozenset({"stride", "padding", "dilation", "groups", "bias"})
_NORM = frozenset({"eps", "momentum", "affine", "track_running_stats"})
_MAX_POOL = frozenset({"stride", "padding", "dilation", "ceil_mode"})
_AVG_POOL = frozenset({"stride", "padding", "ceil_mode", "count_include_pad"})
_NONE: frozenset[str] = frozenset()

_OPTIONS = {
    **{f"Conv{n}d": _CONV for n in (1, 2, 3)},
    **{f"BatchNorm{n}d": _NORM for n in (1, 2, 3)},
    **{f"MaxPool{n}d": _MAX_POOL for n in (1, 2, 3)},
    **{f"AvgPool{n}d": _AVG_POOL for n in (1, 2, 3)},
    **{f"AdaptiveAvgPool{n}d": _NONE for n in (1, 2, 3)},
    "Dropout": frozenset({"p", "inplace"}),
    "Embedding": frozenset({"padding_idx"}),
    "Flatten": frozenset({"start_dim", "end_dim"}),
    "GELU": frozenset({"approximate"}),
    "LayerNorm": frozenset({"eps", "elementwise_affine"}),
    "Linear": frozenset({"bias"}),
    "ReLU": frozenset({"inplace"}),
    "ReLU6": frozenset({"inplace"}),
    "Softmax": _NONE,
}
"""Options of the type, beside what its constructor needs."""

_NEEDED = {"Softmax": "dim"}
"""What C++ cannot do without, and Python is given by name."""

_WITHOUT_OPTIONS = {"Identity", "Sigmoid", "SiLU", "Tanh"}
_DTYPES = {"float32", "int64"}


def module(layer: ModelLayer) -> str | None:
    """Code that defines ``model``; None where no counterpart is obvious."""
    options = _OPTIONS.get(layer.type)
    is_usual = layer.kind == "module" and layer.is_plain and layer.dtype == "torch.float32"
    if not is_usual or any(tensor.dtype not in _DTYPES for tensor in layer.inputs):
        return None
    mode = f"model->{'train' if layer.training else 'eval'}();"
    if layer.is_frozen:
        mode += "\nfor (auto& one : model->parameters()) one.requires_grad_(false);"
    if layer.type in _WITHOUT_OPTIONS and not layer.positional and not layer.keywords:
        return f"auto model = torch::nn::{layer.type}();\n{mode}"
    keywords = dict(layer.keywords)
    given = [*layer.positional]
    if layer.type in _NEEDED:
        given.append(keywords.pop(_NEEDED[layer.type], None))
    if options is None or not options >= keywords.keys():
        return None
    try:
        needed = ", ".join(_code(value, is_shape=layer.type == "LayerNorm") for value in given)
        chosen = "".join(f".{name}({_code(value)})" for name, value in keywords.items())
    except TypeError:
        return None
    made = f"torch::nn::{layer.type}Options({needed}){chosen}"
    return f"auto model = torch::nn::{layer.type}({made});\n{mode}"


def tensor(given: LayerInput, *, gradient: bool) -> str:
    """Code that makes an input."""
    size = _braced(given.shape)
    where = f"{{{given.extent}}}" if given.stride is not None else size
    if given.high is None:
        made = f"torch::rand({where})"
    else:
        made = f"torch::randint({given.high}, {where}, torch::kLong)"
    if given.stride is not None:
        made += f".as_strided({size}, {_braced(given.stride)})"
    return f"auto {given.name} = {made}{'.requires_grad_()' if gradient else ''};"


def ones(name: str, shape: tuple[int, ...]) -> str:
    """Code that makes a tensor of ones."""
    return f"auto {name} = torch::ones({_braced(shape)});"


def _braced(sizes: tuple[int, ...]) -> str:
    return f"{{{', '.join(map(str, sizes))}}}"


def _code(value: Any, *, is_shape: bool = False) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int):
        return f"{{{value}}}" if is_shape else str(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, tuple) and all(isinstance(item, int) for item in value):
        # One size in braces could be that of an option, or options, to a constructor of options.
        return _braced(value) if is_shape or len(value) != 1 else str(value[0])
    if isinstance(value, str) and value == "tanh":
        return json.dumps(value)  # how GELU approximates; other texts are enumerations in C++
    raise TypeError(f"{value!r} has no counterpart")
