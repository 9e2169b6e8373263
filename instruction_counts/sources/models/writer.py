"""The definition file: readable, made to be edited, and the same bytes for the same models."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from instruction_counts.core.facts import Layer, Model
from instruction_counts.core.types import Label
from instruction_counts.sources.models.definition import (
    FOLDER,
    Definition,
    arguments,
    of_layer,
    of_model,
)
from instruction_counts.sources.models.layers import (
    LayerInput,
    ModelLayer,
    ModelTrace,
    TraceMode,
    UniqueLayer,
)
from instruction_counts.sources.models.literals import block, lines, text
from instruction_counts.system.program import program_name

TOP = "Models"
WHOLE = "Whole models"


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
    whole = {trace.source.name: of_model(trace, mode) for trace in traces}
    definitions = [*whole.values(), *(layer for kind in kinds.values() for layer in kind.values())]
    # Relative to the file, so that the same file in another checkout is the same definition.
    place = text(os.path.relpath(Path.cwd().resolve(), folder.resolve()))
    imports = f"from core.api import {', '.join(_imported(definitions))}\n"
    if any(definition.is_local for definition in definitions):
        imports = f"from pathlib import Path\n\n{imports}\n"
        imports += f"{FOLDER} = str((Path(__file__).parent / {place}).resolve())\n"
    entries = [_entry(name, model, place, 8) for name, model in whole.items()]
    body = [f"    {text(WHOLE)}: {{", *entries, "    },", f"    {text(TOP)}: {{"]
    for kind, named in kinds.items():
        entries = [_entry(name, layer, place, 12) for name, layer in named.items()]
        body += [f"        {text(kind)}: {{", *entries, "        },"]
    return "\n".join(
        [
            _head(traces, layers, command),
            "from __future__ import annotations\n",
            imports,
            "BENCHMARKS = {",
            *body,
            "    },\n}\n",
        ]
    )


def _head(
    traces: Sequence[ModelTrace], layers: Sequence[UniqueLayer], command: Sequence[str]
) -> str:
    models = ", ".join(trace.source.name for trace in traces)
    calls = sum(len(trace.calls) for trace in traces)
    content = (
        f"The unique layers of {models}: {len(layers):,} for {calls:,} calls.\n\n"
        "Written by the command below, which writes the same again. It may be edited: what\n"
        "`predict` needs is the `subject` of each entry.\n\n"
        f"    {program_name()} generate {shlex.join(command)}\n"
    )
    escaped = content.replace("\\", "\\\\").replace('"""', '\\"\\"\\"')
    return f'"""{escaped}"""\n'


def _imported(definitions: Sequence[Definition]) -> list[str]:
    types = {type(definition.subject).__name__ for definition in definitions}
    types |= {"Use"} if "Layer" in types else set()
    constructors = {definition.constructor for definition in definitions}
    return sorted({"GroupedSetup", *types, *constructors})


def _entry(name: str, definition: Definition, place: str, indent: int) -> str:
    inner = indent + 4
    is_local = definition.is_local
    setup = f"py_setup={'f' if is_local else ''}{block(definition.setup, inner + 4)}"
    paths = [f"paths={{{FOLDER}: {place}}}"] if is_local else []
    stated = [
        block(definition.code, inner),
        f"setup={lines('GroupedSetup', [setup, *paths], inner)}",
        f"signature={text(definition.signature)}",
        *(["autograd=True", 'gradient="gradient"'] if definition.autograd else []),
        f"subject={_subject(definition.subject, inner)}",
    ]
    return f"{' ' * indent}{text(name)}: {lines(definition.constructor, stated, indent)},"


def _subject(subject: Layer | Model, indent: int) -> str:
    if isinstance(subject, Model):
        return f"Model({text(subject.name)})"
    uses = [f"Use({text(use.model)}, {text(use.path)}, {use.count})" for use in subject.uses]
    several = lines("", uses, indent + 4) if len(uses) > 1 else f"({uses[0]},)"
    return lines("Layer", [text(subject.type), f"uses={several}"], indent)


# What layers are called: ``3, 32, (3, 3), stride=(2, 2) · 1x3x224x224``


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
        parts = [arguments(layer), "frozen" if layer.is_frozen else "", shapes, called]
    return " · ".join(filter(None, parts))


def _tensor(tensor: LayerInput) -> str:
    shape = "x".join(map(str, tensor.shape)) or "scalar"
    dtype = "" if tensor.dtype == "float32" else f" {tensor.dtype}"
    return f"{shape}{dtype}{' strided' if tensor.stride is not None else ''}"
