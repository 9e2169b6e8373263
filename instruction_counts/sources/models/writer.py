"""The definition file: readable, made to be edited, and the same bytes for the same models."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from instruction_counts.core.facts import Layer, Model
from instruction_counts.core.types import Label
from instruction_counts.sources.models.definition import Definition, of_layer, of_model
from instruction_counts.sources.models.layers import (
    LayerInput,
    ModelLayer,
    ModelTrace,
    TraceMode,
    UniqueLayer,
)
from instruction_counts.sources.models.literals import block, call, lines, several, text
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
    kinds: dict[str, dict[str, Definition]] = {}
    for (_, kind, name), layer in zip(labels(layers), layers, strict=True):
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
        ]
    )
    for kind, entries in kinds.items():
        inner = "\n".join(_entry(name, entry, 12) for name, entry in entries.items())
        body += f"\n        {text(kind)}: {{\n{inner}\n        }},"
    body += "\n    },"
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


def _entry(name: str, definition: Definition, indent: int) -> str:
    inner = indent + 4
    # With a place relative to the file, so that the same file elsewhere is the same definition.
    place = definition.beside
    setup = f"py_setup={'f' if place else ''}{block(definition.setup, inner + 4)}"
    paths = [f"paths={{_beside({place}): {place}}}"] if place else []
    arguments = [
        block(definition.code, inner),
        f"setup={lines('GroupedSetup', [setup, *paths], inner)}",
        f"signature={text(definition.signature)}",
        *(["autograd=True", 'gradient="gradient"'] if definition.autograd else []),
        f"subject={_subject(definition.subject, inner)}",
    ]
    return f"{' ' * indent}{text(name)}: {lines(definition.constructor, arguments, indent)},"


def _subject(subject: Layer | Model, indent: int) -> str:
    if isinstance(subject, Model):
        return f"Model({text(subject.name)})"
    inner = indent + 4
    uses = [
        call("Use", [text(use.model), text(use.path), str(use.count)], inner + 4)
        for use in subject.uses
    ]
    stated = [text(subject.type), f"uses={several(uses, inner, len('uses='))}"]
    return lines("Layer", stated, indent)


# What layers are called: ``3→32 3x3 s2 · 1x3x224x224``


def labels(layers: Sequence[UniqueLayer]) -> list[Label]:
    """A label for each layer; where two would have the same, they are numbered."""
    found: list[Label] = []
    taken: Counter[Label] = Counter()
    for unique in layers:
        name = _name(unique.layer)
        label = (TOP, unique.layer.title, name)
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
        parts = [" ".join(_arguments(layer)), shapes, called]
    return " · ".join(filter(None, parts))


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
