"""The definition file: readable, made to be edited, and the same bytes for the same models."""

import itertools
import os
import shlex
import textwrap
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs

from instruction_counts.core.facts import Use
from instruction_counts.core.types import Label
from instruction_counts.sources.models.layers import (
    LayerInput,
    ModelLayer,
    ModelTrace,
    Result,
    TraceMode,
)
from instruction_counts.system.program import program_name

TOP = "Models"
WHOLE = "Whole models"
_GRADIENT = "gradient"
_LETTERS = "xabcdefghijklmnopqrstuvw"
_IMPORT = "from core.api import GroupedModules, GroupedSetup, GroupedStmts, Layer, Model, Use\n"


def definition_file(
    traces: Sequence[ModelTrace],
    layers: Mapping[ModelLayer, tuple[Use, ...]],
    mode: TraceMode,
    command: Sequence[str],
    folder: Path,
) -> str:
    """The whole file; ``command`` is what makes it again, ``folder`` where it will lie."""
    kinds: dict[str, dict[str, str]] = defaultdict(dict)
    for (_, kind, name), (layer, uses) in zip(labels(layers), layers.items(), strict=True):
        kinds[kind][name] = _of_layer(layer, uses, mode)
    # Relative to the file, so that the same file in another checkout is the same definition.
    place = _text(os.path.relpath(Path.cwd().resolve(), folder.resolve()))
    imports = _IMPORT
    if any(trace.is_local for trace in traces):
        imports = f"from pathlib import Path\n\n{_IMPORT}\n"
        imports += f"FOLDER = str((Path(__file__).parent / {place}).resolve())\n"
    whole = {trace.source.name: _of_model(trace, mode, place) for trace in traces}
    of_layers = {kind: _mapping(entries) for kind, entries in kinds.items()}
    return "\n".join(
        [
            _head(traces, len(layers), command),
            "from __future__ import annotations\n",
            imports,
            f"BENCHMARKS = {_mapping({WHOLE: _mapping(whole), TOP: _mapping(of_layers)})}\n",
        ]
    )


def _head(traces: Sequence[ModelTrace], number: int, command: Sequence[str]) -> str:
    models = ", ".join(trace.source.name for trace in traces)
    calls = sum(len(trace.calls) for trace in traces)
    content = (
        f"The unique layers of {models}: {number:,} for {calls:,} calls.\n\n"
        "Written by the command below, which writes the same again with the same build. It may\n"
        "be edited: what `predict` needs is the `subject` of each entry.\n\n"
        f"    {program_name()} generate {shlex.join(command)}\n"
    )
    escaped = content.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{escaped}"""\n'


def _of_layer(layer: ModelLayer, uses: Sequence[Use], mode: TraceMode) -> str:
    """A unique layer, with all places where it is used."""
    autograd, moved = mode.backward and layer.has_backward, mode.moved
    inputs = [
        _input(tensor, moved, gradient=autograd and tensor.needs_grad) for tensor in layer.inputs
    ]
    pick = layer.result.pick if autograd and layer.result is not None else ""
    made = f"{_constructor(layer)}{moved}" if layer.kind == "module" else ""
    is_called = bool(made) and layer.is_plain and not pick  # as the constructor calls modules
    setup = [
        "torch.manual_seed(0)",
        "" if mode.backward else "torch.set_grad_enabled(False)",
        "" if is_called else made,
        *inputs,
        f"{_gradient(layer.result)}{moved}" if autograd else "",
    ]
    places = [f"Use({_text(use.model)}, {_text(use.path)}, {use.count})" for use in uses]
    several = _lines("(", places) if len(places) > 1 else f"({places[0]},)"
    code = "\n".join(filter(None, setup))
    return _entry(
        made if is_called else f"y = {layer.call}{pick}",
        [f"py_setup={_block(code)}"],
        [tensor.name for tensor in layer.inputs],
        _lines("Layer(", [_text(layer.title), f"uses={several}"]),
        mode,
        autograd=autograd,
        constructor="GroupedModules" if is_called else "GroupedStmts",
    )


def _of_model(trace: ModelTrace, mode: TraceMode, place: str) -> str:
    """The model as a whole, as its user would run it."""
    autograd, moved = mode.backward and trace.result is not None, mode.moved
    variables = itertools.chain(_LETTERS, (f"t{number}" for number in itertools.count()))
    names = [name for name, _ in zip(variables, trace.inputs, strict=False)]
    given = list(zip(names, trace.inputs, strict=True))
    args = [f"{tensor.name}={name}" if tensor.name else name for name, tensor in given]
    pick = trace.result.pick if autograd and trace.result is not None else ""
    module, _, factory = trace.source.target.partition(":")
    train = (".train()" if mode.training else ".eval()") if trace.has_mode else ""
    setup = [
        *(["import sys\n\nsys.path.insert(0, {FOLDER!r})"] if trace.is_local else []),
        f"import {module}\n\ntorch.manual_seed(0)\nmodel = {module}.{factory}(){train}{moved}",
        *([] if mode.backward else ["torch.set_grad_enabled(False)"]),
        *(_input(attrs.evolve(tensor, name=name), moved, gradient=False) for name, tensor in given),
        *([f"{_gradient(trace.result)}{moved}"] if autograd else []),
    ]
    code = _block("\n".join(setup))
    return _entry(
        f"y = model({', '.join(args)}){pick}",
        [f"py_setup=f{code}", f"paths={{FOLDER: {place}}}"]
        if trace.is_local
        else [f"py_setup={code}"],
        names,
        f"Model({_text(trace.source.name)}, calls={len(trace.calls)})",
        mode,
        autograd=autograd,
    )


def _entry(
    code: str,
    setup: Sequence[str],
    inputs: Iterable[str],
    subject: str,
    mode: TraceMode,
    *,
    autograd: bool,
    constructor: str = "GroupedStmts",
) -> str:
    """An entry of the mapping."""
    stated = [
        _block(code),
        f"setup={_lines('GroupedSetup(', setup)}",
        f'signature="f({", ".join(inputs)}) -> y"',
        *(f"{runtime}=True" for runtime in dict.fromkeys(mode.runtimes)),
        *(["autograd=True", f'gradient="{_GRADIENT}"'] if autograd else []),
        *([] if mode.device is None else [f"device={_text(mode.device)}"]),
        f"subject={subject}",
    ]
    return _lines(f"{constructor}(", stated)


def _arguments(layer: ModelLayer) -> str:
    texts = [_literal(value) for value in layer.positional]
    return ", ".join([*texts, *(f"{name}={_literal(value)}" for name, value in layer.keywords)])


def _constructor(layer: ModelLayer) -> str:
    cast = "" if layer.dtype == "torch.float32" else f".to({layer.dtype})"
    mode = "train" if layer.training else "eval"
    frozen = ".requires_grad_(False)" if layer.is_frozen else ""
    return f"model = torch.nn.{layer.type}({_arguments(layer)}){cast}.{mode}(){frozen}"


def _input(tensor: LayerInput, moved: str, *, gradient: bool) -> str:
    shape = _literal(tensor.shape if tensor.stride is None else (tensor.extent,))
    dtype = "" if tensor.dtype in {"float32", "int64"} else f", dtype=torch.{tensor.dtype}"
    if tensor.high is None:
        made = f"torch.rand({shape}{dtype})"
    elif tensor.dtype == "bool":
        made = f"torch.randint(0, 2, {shape}).bool()"
    else:
        made = f"torch.randint(0, {tensor.high}, {shape}{dtype})"
    made += moved
    if tensor.stride is not None:
        made += f".as_strided({_literal(tensor.shape)}, {_literal(tensor.stride)})"
    return f"{tensor.name} = {made}{'.requires_grad_()' if gradient else ''}"


def _gradient(result: Result | None) -> str:
    assert result is not None, "what has no output has no gradient"
    dtype = "" if result.dtype == "float32" else f", dtype=torch.{result.dtype}"
    return f"{_GRADIENT} = torch.ones({_literal(result.shape)}{dtype})"


# What layers are called: ``3, 32, (3, 3), stride=(2, 2) · 1x3x224x224``


def labels(layers: Iterable[ModelLayer]) -> list[Label]:
    """A label for each layer; where two would have the same, they are numbered."""
    found: list[Label] = []
    taken: Counter[Label] = Counter()
    for layer in layers:
        name = _name(layer)
        label = (TOP, layer.title, name)
        taken[label] += 1
        if taken[label] > 1:
            label = (*label[:2], f"{name} ({taken[label]})")
        found.append(label)
    return found


def _name(layer: ModelLayer) -> str:
    shapes = ", ".join(map(_tensor, layer.inputs))
    if layer.kind == "operator":
        call = layer.call.replace("torch.nn.functional.", "").replace("torch.ops.aten.", "")
        parts = [call.removeprefix("torch."), shapes]
    else:
        called = "" if layer.is_plain else layer.call.removeprefix("model")
        parts = [_arguments(layer), "frozen" if layer.is_frozen else "", shapes, called]
    return " · ".join(filter(None, parts))


def _tensor(tensor: LayerInput) -> str:
    shape = "x".join(map(str, tensor.shape)) or "scalar"
    dtype = "" if tensor.dtype == "float32" else f" {tensor.dtype}"
    return f"{shape}{dtype}{' strided' if tensor.stride is not None else ''}"


# Python code of plain values, laid out as ruff lays it out


def _text(value: str) -> str:
    """A text in double quotes, in single ones where that saves escapes."""
    code = repr(value)
    if code.startswith("'") and '"' not in value:
        return f'"{code[1:-1]}"'
    return code


def _block(code: str) -> str:
    """Code as a text: on one line, or between triple quotes where it has several."""
    if "\n" not in code:
        return _text(code)
    escaped = code.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""\n{escaped}\n"""'


def _literal(value: Any) -> str:
    """A plain value, on one line."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(_literal, value))}{',' if len(value) == 1 else ''})"
    return repr(value)


def _mapping(entries: Mapping[str, str]) -> str:
    """A dictionary with an entry a line."""
    return _lines("{", (f"{_text(name)}: {code}" for name, code in entries.items()), "}")


def _lines(opening: str, parts: Iterable[str], closing: str = ")") -> str:
    """A call, or something else in brackets, with a part a line."""
    inner = textwrap.indent("".join(f"{part},\n" for part in parts), " " * 4)
    return f"{opening}\n{inner}{closing}"
