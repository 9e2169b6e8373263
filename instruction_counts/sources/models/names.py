"""Readable names of layers: ``3→32 3x3 s2 · 1x3x224x224``."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from core.types import Label
from instruction_counts.sources.models.layers import ModelLayer, Tensor

TOP = "Models"
WHOLE = "Whole models"

_SHORT = {"stride": "s", "padding": "p", "dilation": "d", "groups": "g"}


def labels(layers: Sequence[ModelLayer]) -> list[Label]:
    """A label for each layer; where two would have the same, they are numbered."""
    found: list[Label] = []
    taken: dict[Label, int] = {}
    for layer in layers:
        label = (TOP, layer.title, _name(layer))
        taken[label] = taken.get(label, 0) + 1
        if taken[label] > 1:
            label = (*label[:2], f"{label[2]} ({taken[label]})")
        found.append(label)
    return found


def _name(layer: ModelLayer) -> str:
    shapes = ", ".join(map(_tensor, layer.inputs))
    if layer.kind == "operator":
        call = layer.call.replace("torch.nn.functional.", "").replace("torch.ops.aten.", "")
        parts = [call.removeprefix("torch."), shapes]
    else:
        parts = [" ".join(_arguments(layer)), shapes]
        call = layer.call.removeprefix("model")
        if not layer.is_plain:
            parts.append(call)
    return " · ".join(part for part in parts if part)


def _arguments(layer: ModelLayer) -> list[str]:
    given = list(layer.positional)
    texts: list[str] = []
    if len(given) >= 2 and all(isinstance(size, int) for size in given[:2]):
        texts.append(f"{given[0]}→{given[1]}")  # channels, features, words and their width
        given = given[2:]
    texts += [_sizes(size) for size in given]
    for name, value in layer.keywords:
        if value is False and name == "bias":
            texts.append("no bias")
        elif name in _SHORT:
            texts.append(f"{_SHORT[name]}{_sizes(value, same=True)}")
        else:
            texts.append(f"{name}={_sizes(value)}")
    return [*texts, "frozen"] if layer.is_frozen else texts


def _sizes(value: Any, *, same: bool = False) -> str:
    if isinstance(value, tuple):
        if same and len(set(value)) == 1:
            return str(value[0])
        return "x".join(map(str, value))
    return str(value)


def _tensor(tensor: Tensor) -> str:
    shape = "x".join(map(str, tensor.shape)) or "scalar"
    dtype = "" if tensor.dtype == "float32" else f" {tensor.dtype}"
    return f"{shape}{dtype}{' strided' if tensor.stride is not None else ''}"
