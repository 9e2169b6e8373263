"""What is written of a layer or a whole model in a definition file."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path

import attrs

from instruction_counts.core.facts import Layer, Model
from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.models import cpp
from instruction_counts.sources.models.layers import (
    LayerInput,
    ModelLayer,
    ModelTrace,
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
    codes: tuple[str, ...]
    py_setup: str
    cpp_setup: str
    signature: str
    autograd: bool
    subject: Layer | Model
    beside: str = ""
    """A place relative to the file, as code. With one, the setup is the inside of an f-string."""


def of_layer(unique_layer: UniqueLayer, *, backward: bool) -> Definition:
    """A unique layer, with all places where it is used."""
    layer = unique_layer.layer
    autograd = backward and layer.has_backward
    names = ", ".join(tensor.name for tensor in layer.inputs)
    head = ["torch.manual_seed(0)", *([] if backward else ["torch.set_grad_enabled(False)"])]
    inputs = [_input(tensor, gradient=autograd and tensor.needs_grad) for tensor in layer.inputs]
    shape = layer.result.shape if layer.result is not None else ()
    last = [_ones(layer)] if autograd else []
    pick = layer.result.pick if autograd and layer.result is not None else ""
    subject = Layer(layer.title, unique_layer.uses)
    made = _constructor(layer)
    if layer.kind == "module" and layer.is_plain and not pick:
        other = cpp.module(layer)
        cpp_head = [
            "torch::manual_seed(0);",
            *([] if backward else ["torch::NoGradGuard no_grad;"]),
        ]
        cpp_inputs = [
            cpp.tensor(tensor, gradient=autograd and tensor.needs_grad) for tensor in layer.inputs
        ]
        cpp_last = [cpp.ones(_GRADIENT, shape)] if autograd else []
        return Definition(
            "GroupedModules",
            (made, *([other] if other else [])),
            "\n".join([*head, *inputs, *last]),
            "\n".join([*cpp_head, *cpp_inputs, *cpp_last]) if other else "",
            f"f({names}) -> y",
            autograd,
            subject,
        )
    build = [made] if layer.kind == "module" else []
    return Definition(
        "GroupedStmts",
        (f"y = {layer.call}{pick}",),
        "\n".join([*head, *build, *inputs, *last]),
        "",
        f"f({names}) -> y",
        autograd,
        subject,
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
    ]
    if autograd and trace.result is not None:
        dtype = f", dtype=torch.{trace.result.dtype}" if trace.result.dtype != "float32" else ""
        lines.append(f"{_GRADIENT} = torch.ones({trace.result.shape}{dtype})")
    return Definition(
        "GroupedStmts",
        (f"y = model({', '.join(args)}){pick}",),
        "\n".join(lines),
        "",
        f"f({', '.join(tensor.name for tensor in inputs)}) -> y",
        autograd,
        Model(trace.source.name),
        beside=beside,
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
    letters = (letter for letter in _endless_letters() if letter not in arguments)
    taken = set(_TAKEN)
    found = []
    for tensor in inputs:
        name = tensor.name or next(letters)
        while name in taken or not is_argument(name):
            name = next(letters)
        taken.add(name)
        found.append(attrs.evolve(tensor, name=name))
    return found


def _endless_letters() -> Iterator[str]:
    yield from _LETTERS
    yield from (f"t{number}" for number in count(len(_LETTERS)))


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


def _ones(layer: ModelLayer) -> str:
    assert layer.result is not None, "what has no output has no gradient"
    dtype = "" if layer.result.dtype == "float32" else f", dtype=torch.{layer.result.dtype}"
    return f"{_GRADIENT} = torch.ones({literal(layer.result.shape)}{dtype})"
