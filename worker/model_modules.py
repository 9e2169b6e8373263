"""Modules of torch's own: the arguments of their constructors, read from their attributes."""

from __future__ import annotations

import inspect
import math
from typing import Any

from .installed import Message
from .model_tensors import UnwritableError

_NOT_KEPT = {"device", "dtype", "size_average", "reduce", "min_value", "max_value"}
"""Arguments of constructors that say where, or that only old programs give."""


def constructor_arguments(module: Any) -> tuple[list[Any], Message]:
    """Arguments of the constructor: needed ones in order, others by name where not the default."""
    kind = type(module)
    positional: list[Any] = []
    keywords: Message = {}
    for name, parameter in _parameters(kind):
        if name in _NOT_KEPT or name.startswith("_"):
            continue
        value = _plain(_attribute(module, name, parameter.default))
        if parameter.default is inspect.Parameter.empty:
            positional.append(value)
        elif not _is_same(value, _plain(parameter.default)):
            keywords[name] = value
    if getattr(module, "nonlinearity", "tanh") != "tanh":  # of nn.RNN, which hands it on unnamed
        keywords["nonlinearity"] = module.nonlinearity
    return positional, keywords


def _is_same(value: Any, default: Any) -> bool:
    # (1, 1) is what a default of 1 becomes.
    return value == default or (isinstance(value, list) and set(map(str, value)) == {str(default)})


def _parameters(kind: Any) -> list[tuple[str, Any]]:
    found = list(inspect.signature(kind.__init__).parameters.items())[1:]
    if any(parameter.kind is inspect.Parameter.VAR_POSITIONAL for _, parameter in found):
        # Recurrent layers hand everything on; their base says what that is, after the mode.
        base = kind.__mro__[1]
        found = list(inspect.signature(base.__init__).parameters.items())[1:]
        found = [pair for pair in found if pair[0] != "mode"]
    return [
        pair
        for pair in found
        if pair[1].kind not in {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    ]


def _attribute(module: Any, name: str, default: Any) -> Any:
    if name == "bias":
        return _bias(module, default)
    if name == "add_bias_kv":
        return module.bias_k is not None
    if name in {"kdim", "vdim"} and getattr(module, name) == module.embed_dim:
        return default
    if name == "proj_size":  # of an LSTM; in older torch others have none
        return getattr(module, name, default)
    value = getattr(module, name, inspect.Parameter.empty)
    if value is inspect.Parameter.empty:
        raise UnwritableError(f"it does not keep its argument {name}")
    return value


def _bias(module: Any, default: Any) -> Any:
    """Whether there is one; modules keep the argument, or the tensor, or None."""
    if type(module).__name__ == "MultiheadAttention":
        return module.in_proj_bias is not None
    if not (getattr(module, "affine", True) and getattr(module, "elementwise_affine", True)):
        return default  # a norm without weights has none, whatever was asked for
    value = getattr(module, "bias", None)
    return value if isinstance(value, bool) else value is not None


def _plain(value: Any) -> Any:
    """A value as JSON holds it."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, (tuple, list)):
        return [_plain(item) for item in value]
    if value is inspect.Parameter.empty:
        return "no default"
    raise UnwritableError(f"an argument is a {type(value).__name__}")


def tupled(value: Any) -> Any:
    """A value whose lists, at every depth, are tuples."""
    return tuple(map(tupled, value)) if isinstance(value, list) else value


def looks(module: Any) -> Any:
    """What tells one module from another of the same type."""
    state = [*module.named_parameters(), *module.named_buffers()]
    shapes = [(name, tuple(tensor.shape)) for name, tensor in state]
    return repr(module), shapes, [(tensor.stride(), tensor.dtype) for _, tensor in state]
