"""The definition file: readable, made to be edited, and the same bytes for the same models."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from instruction_counts.core.facts import Layer, Model, Use
from instruction_counts.core.types import Label
from instruction_counts.sources.models.definition import Definition, of_layer, of_model
from instruction_counts.sources.models.layers import (
    LayerInput,
    ModelLayer,
    ModelTrace,
    TraceMode,
    UniqueLayer,
)
from instruction_counts.sources.models.literals import block, call, several, text
from instruction_counts.system.program import program_name

TOP = "Models"
WHOLE = "Whole models"
_SHORT = {"stride": "s", "padding": "p", "dilation": "d", "groups": "g"}
_HELPER = """\


def _beside(path: str) -> str:
    return str((Path(__file__).parent / path).resolve())

"""


def definition_file(
    traces: Sequence[ModelTrace],
    layers: Sequence[UniqueLayer],
    mode: TraceMode,
    command: Sequence[str],
    folder: Path,
) -> str:
    """The whole file; ``command`` is what makes it again, ``folder`` where it will lie."""
    named = labels([layer.layer for layer in layers])
    kinds: dict[str, dict[str, Definition]] = {}
    for (_, kind, name), layer in zip(named, layers, strict=True):
        kinds.setdefault(kind, {})[name] = of_layer(layer, backward=mode.backward)
    whole = {trace.source.name: of_model(trace, mode, folder) for trace in traces}
    definitions = [*whole.values(), *(layer for kind in kinds.values() for layer in kind.values())]
    beside = any(definition.beside for definition in definitions)
    imports = ["from pathlib import Path\n"] if beside else []
    imports.append(f"from core.api import {', '.join(_imported(definitions))}")
    body = "\n".join(
        [
            f"    {text(WHOLE)}: {{",
            *(_entry(name, layer, 8) for name, layer in whole.items()),
            "    },",
            f"    {text(TOP)}: {{",
            *(line for kind, entries in kinds.items() for line in _section(kind, entries)),
            "    },",
        ]
    )
    parts = [
        f"{_docstring(_head(traces, layers, command))}\n",
        "from __future__ import annotations\n",
        "\n".join(imports) + ("" if beside else "\n"),
        *([_HELPER] if beside else []),
        f"BENCHMARKS = {{\n{body}\n}}\n",
    ]
    return "\n".join(parts)


def _head(
    traces: Sequence[ModelTrace], layers: Sequence[UniqueLayer], command: Sequence[str]
) -> str:
    models = ", ".join(trace.source.name for trace in traces)
    calls = sum(len(trace.calls) for trace in traces)
    return (
        f"The unique layers of {models}: {len(layers):,} for {calls:,} calls.\n\n"
        "Written by the command below, which writes the same again. It may be edited: what\n"
        "`predict` needs is the `subject` of each entry.\n\n"
        f"{_command(command)}\n"
    )


def _docstring(content: str) -> str:
    # Raw where that can be: the command is to be copied as it stands.
    if '"""' not in content:
        return f'r"""{content}"""'
    escaped = content.replace("\\", "\\\\").replace('"', '\\"')
    return f'"""{escaped}"""'


def _command(command: Sequence[str]) -> str:
    lines = [f"    {program_name()} generate"]
    for word in command:
        if word.startswith("--"):
            lines.append(f"        {word}")
        else:
            lines[-1] += f" {shlex.quote(word)}"
    return " \\\n".join(lines)


def _imported(definitions: Sequence[Definition]) -> list[str]:
    types = {type(definition.subject).__name__ for definition in definitions}
    types |= {"Use"} if "Layer" in types else set()
    constructors = {definition.constructor for definition in definitions}
    return sorted({"GroupedSetup", *types, *constructors})


def _section(kind: str, entries: dict[str, Definition]) -> list[str]:
    return [
        f"        {text(kind)}: {{",
        *(_entry(name, entry, 12) for name, entry in entries.items()),
        "        },",
    ]


def _entry(name: str, definition: Definition, indent: int) -> str:
    inner = indent + 4
    lines = [*(block(code, inner) for code in definition.codes)]
    setups = [("py_setup", definition.py_setup), ("cpp_setup", definition.cpp_setup)]
    made = "".join(
        f"{' ' * (inner + 4)}{field}={_setup(code, inner + 4, definition)},\n"
        for field, code in setups
        if code
    )
    if definition.beside:  # so that the same file elsewhere is the same definition
        made += f"{' ' * (inner + 4)}paths={{_beside({definition.beside}): {definition.beside}}},\n"
    lines.append(f"setup=GroupedSetup(\n{made}{' ' * inner})")
    lines.append(f"signature={text(definition.signature)}")
    if definition.autograd:
        lines += ["autograd=True", 'gradient="gradient"']
    lines.append(f"subject={_subject(definition.subject, inner)}")
    arguments = "".join(f"{' ' * inner}{line},\n" for line in lines)
    return f"{' ' * indent}{text(name)}: {definition.constructor}(\n{arguments}{' ' * indent}),"


def _setup(code: str, indent: int, definition: Definition) -> str:
    return f"{'f' if definition.beside else ''}{block(code, indent)}"


def _subject(subject: Layer | Model, indent: int) -> str:
    if isinstance(subject, Model):
        return f"Model({text(subject.name)})"
    inner = indent + 4
    uses = [_use(use, inner + 4) for use in subject.uses]
    return (
        f"Layer(\n{' ' * inner}{text(subject.type)},\n"
        f"{' ' * inner}uses={several(uses, inner, len('uses='))},\n{' ' * indent})"
    )


def _use(use: Use, indent: int) -> str:
    return call("Use", [text(use.model), text(use.path), str(use.count)], indent)


# ---------------------------------------------------------------------------------------------
# What layers are called: ``3→32 3x3 s2 · 1x3x224x224``
# ---------------------------------------------------------------------------------------------


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


def _tensor(tensor: LayerInput) -> str:
    shape = "x".join(map(str, tensor.shape)) or "scalar"
    dtype = "" if tensor.dtype == "float32" else f" {tensor.dtype}"
    return f"{shape}{dtype}{' strided' if tensor.stride is not None else ''}"
