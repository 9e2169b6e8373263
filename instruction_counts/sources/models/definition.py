"""What is written of a layer or a whole model in a definition file."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from pathlib import Path

import attrs

from instruction_counts.core.facts import Layer, Model
from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.models.layers import (
    LayerInput,
    ModelLayer,
    ModelTrace,
    Result,
    TraceMode,
    UniqueLayer,
)
from instruction_counts.sources.models.literals import literal, text
from instruction_counts.sources.operators.entries import is_argument

_GRADIENT = "gradient"
_TAKEN = {"model", "torch", "y", _GRADIENT}
"""Names that a whole model needs beside its inputs."""
_LETTERS = "xabcdefghijklmnopqrstuvw"


@attrs.frozen
class Definition:
    """The arguments of a constructor of the DSL, as code that has no layout yet."""

    constructor: str
    code: str
    setup: str
    signature: str
    autograd: bool
    subject: Layer | Model
    beside: str = ""
    """A place relative to the file, as code. With one, the setup is the inside of an f-string."""


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


def of_model(trace: ModelTrace, mode: TraceMode, folder: Path) -> Definition:
    """The model as a whole, as its user would run it; ``folder`` is that of the definitions."""
    autograd = mode.backward and trace.result is not None
    inputs = _named(trace.inputs)
    args = [
        _argument(given.name, tensor.name)
        for given, tensor in zip(trace.inputs, inputs, strict=True)
    ]
    pick = trace.result.pick if autograd and trace.result is not None else ""
    beside = _place(trace, folder)
    lines = [
        *_made(trace, beside, training=mode.training),
        *([] if mode.backward else ["torch.set_grad_enabled(False)"]),
        *(_input(tensor, gradient=False) for tensor in inputs),
        *([_gradient(trace.result)] if autograd else []),
    ]
    return Definition(
        "GroupedStmts",
        f"y = model({', '.join(args)}){pick}",
        "\n".join(lines),
        f"f({', '.join(tensor.name for tensor in inputs)}) -> y",
        autograd,
        Model(trace.source.name),
        beside,
    )


def _made(trace: ModelTrace, beside: str, *, training: bool) -> list[str]:
    module, _, factory = trace.source.target.partition(":")
    mode = (".train()" if training else ".eval()") if trace.has_mode else ""
    # A field of an f-string; the file that is written says where it lies.
    place = f"import sys\n\nsys.path.insert(0, {{_beside({beside})!r}})"
    return [
        *([place] if beside else []),
        f"import {module}",
        "",
        "torch.manual_seed(0)",
        f"model = {module}.{factory}(){mode}",
    ]


def _place(trace: ModelTrace, folder: Path) -> str:
    """Where the factory's module lies, from ``folder``, as code; empty where it is installed."""
    if not trace.is_local:
        return ""
    code = text(os.path.relpath(Path.cwd().resolve(), folder.resolve()))
    # The f-string has three quotes, and a field of one takes no backslash before Python 3.12.
    if "\\" in code or '"""' in code:
        raise UsageError(
            f"the path {code} cannot be used in a definition file",
            "Rename it to avoid backslashes, line breaks and quotation marks.",
        )
    return code


def _named(inputs: Sequence[LayerInput]) -> list[LayerInput]:
    """Inputs with names of variables: that of the argument where it is free."""
    arguments = {tensor.name for tensor in inputs}
    endless = itertools.chain(_LETTERS, (f"t{number}" for number in itertools.count()))
    letters = (letter for letter in endless if letter not in arguments)
    taken = set(_TAKEN)
    found = []
    for tensor in inputs:
        name = tensor.name or next(letters)
        while name in taken or not is_argument(name):
            name = next(letters)
        taken.add(name)
        found.append(attrs.evolve(tensor, name=name))
    return found


def _argument(name: str, variable: str) -> str:
    if not name:
        return variable
    # An argument may have a name that cannot be written in a call: forward(**kwargs).
    return f"{name}={variable}" if is_argument(name) else f"**{{{text(name)}: {variable}}}"


def _constructor(layer: ModelLayer) -> str:
    texts = [literal(value) for value in layer.positional]
    texts += [f"{name}={literal(value)}" for name, value in layer.keywords]
    cast = "" if layer.dtype == "torch.float32" else f".to({layer.dtype})"
    mode = "train" if layer.training else "eval"
    frozen = ".requires_grad_(False)" if layer.is_frozen else ""
    return f"model = torch.nn.{layer.type}({', '.join(texts)}){cast}.{mode}(){frozen}"


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
