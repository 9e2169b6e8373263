"""What is written of a layer or a whole model in a definition file."""

from __future__ import annotations

import itertools

import attrs

from instruction_counts.core.facts import Layer, Model
from instruction_counts.sources.models.layers import (
    LayerInput,
    ModelLayer,
    ModelTrace,
    Result,
    TraceMode,
    UniqueLayer,
)
from instruction_counts.sources.models.literals import literal

_GRADIENT = "gradient"
_LETTERS = "xabcdefghijklmnopqrstuvw"
FOLDER = "FOLDER"
"""The constant of the file that says where local models lie."""


@attrs.frozen
class Definition:
    """The arguments of a constructor of the DSL, as code that has no layout yet."""

    constructor: str
    code: str
    setup: str
    signature: str
    autograd: bool
    subject: Layer | Model
    is_local: bool = False
    """Whether the setup is the inside of an f-string, which names `FOLDER`."""


def of_layer(unique_layer: UniqueLayer, *, backward: bool) -> Definition:
    """A unique layer, with all places where it is used."""
    layer = unique_layer.layer
    autograd = backward and layer.has_backward
    inputs = [_input(tensor, gradient=autograd and tensor.needs_grad) for tensor in layer.inputs]
    pick = layer.result.pick if autograd and layer.result is not None else ""
    made = _constructor(layer) if layer.kind == "module" else ""
    is_called = bool(made) and layer.is_plain and not pick  # as the constructor calls modules
    lines = [
        "torch.manual_seed(0)",
        "" if backward else "torch.set_grad_enabled(False)",
        "" if is_called else made,
        *inputs,
        _gradient(layer.result) if autograd else "",
    ]
    return Definition(
        "GroupedModules" if is_called else "GroupedStmts",
        made if is_called else f"y = {layer.call}{pick}",
        "\n".join(filter(None, lines)),
        f"f({', '.join(tensor.name for tensor in layer.inputs)}) -> y",
        autograd,
        Layer(layer.title, unique_layer.uses),
    )


def of_model(trace: ModelTrace, mode: TraceMode) -> Definition:
    """The model as a whole, as its user would run it."""
    autograd = mode.backward and trace.result is not None
    variables = itertools.chain(_LETTERS, (f"t{number}" for number in itertools.count()))
    names = [name for name, _ in zip(variables, trace.inputs, strict=False)]
    given = list(zip(names, trace.inputs, strict=True))
    args = [f"{tensor.name}={name}" if tensor.name else name for name, tensor in given]
    pick = trace.result.pick if autograd and trace.result is not None else ""
    lines = [
        *_made(trace, training=mode.training),
        *([] if mode.backward else ["torch.set_grad_enabled(False)"]),
        *(_input(attrs.evolve(tensor, name=name), gradient=False) for name, tensor in given),
        *([_gradient(trace.result)] if autograd else []),
    ]
    return Definition(
        "GroupedStmts",
        f"y = model({', '.join(args)}){pick}",
        "\n".join(lines),
        f"f({', '.join(names)}) -> y",
        autograd,
        Model(trace.source.name),
        trace.is_local,
    )


def _made(trace: ModelTrace, *, training: bool) -> list[str]:
    module, _, factory = trace.source.target.partition(":")
    mode = (".train()" if training else ".eval()") if trace.has_mode else ""
    place = f"import sys\n\nsys.path.insert(0, {{{FOLDER}!r}})"
    return [
        *([place] if trace.is_local else []),
        f"import {module}",
        "",
        "torch.manual_seed(0)",
        f"model = {module}.{factory}(){mode}",
    ]


def arguments(layer: ModelLayer) -> str:
    """The arguments of a module's constructor, as code."""
    texts = [literal(value) for value in layer.positional]
    return ", ".join([*texts, *(f"{name}={literal(value)}" for name, value in layer.keywords)])


def _constructor(layer: ModelLayer) -> str:
    cast = "" if layer.dtype == "torch.float32" else f".to({layer.dtype})"
    mode = "train" if layer.training else "eval"
    frozen = ".requires_grad_(False)" if layer.is_frozen else ""
    return f"model = torch.nn.{layer.type}({arguments(layer)}){cast}.{mode}(){frozen}"


def _input(tensor: LayerInput, *, gradient: bool) -> str:
    shape = literal(tensor.shape if tensor.stride is None else (tensor.extent,))
    dtype = "" if tensor.dtype in {"float32", "int64"} else f", dtype=torch.{tensor.dtype}"
    if tensor.high is None:
        made = f"torch.rand({shape}{dtype})"
    elif tensor.dtype == "bool":
        made = f"torch.randint(0, 2, {shape}).bool()"
    else:
        made = f"torch.randint(0, {tensor.high}, {shape}{dtype})"
    if tensor.stride is not None:
        made += f".as_strided({literal(tensor.shape)}, {literal(tensor.stride)})"
    return f"{tensor.name} = {made}{'.requires_grad_()' if gradient else ''}"


def _gradient(result: Result | None) -> str:
    assert result is not None, "what has no output has no gradient"
    dtype = "" if result.dtype == "float32" else f", dtype=torch.{result.dtype}"
    return f"{_GRADIENT} = torch.ones({literal(result.shape)}{dtype})"
