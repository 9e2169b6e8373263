"""The definition file: readable, made to be edited, and the same bytes for the same models."""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Sequence
from pathlib import Path

from core.facts import Layer, Model, Use
from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.models import names
from instruction_counts.sources.models.definition import Definition, of_layer, of_model
from instruction_counts.sources.models.layers import Mode, ModelTrace
from instruction_counts.sources.models.literals import block, call, literal, several, text
from instruction_counts.sources.models.unique import UniqueLayer
from instruction_counts.system.program import program_name

_DIGEST = re.compile(r"^Digest, by which edits are noticed: (\w*)$", re.MULTILINE)

_HELPER = """\


def _beside(path: str) -> str:
    return str((Path(__file__).parent / path).resolve())

"""


def definition_file(
    traces: Sequence[ModelTrace],
    layers: Sequence[UniqueLayer],
    mode: Mode,
    command: Sequence[str],
    folder: Path,
) -> str:
    """The whole file; ``command`` is what makes it again, ``folder`` where it will lie."""
    named = names.labels([layer.layer for layer in layers])
    kinds: dict[str, dict[str, Definition]] = {}
    for (_, kind, name), layer in zip(named, layers, strict=True):
        kinds.setdefault(kind, {})[name] = of_layer(layer, backward=mode.backward)
    whole = {trace.source.name: of_model(trace, layers, mode, folder) for trace in traces}
    definitions = [*whole.values(), *(layer for kind in kinds.values() for layer in kind.values())]
    beside = any(definition.beside for definition in definitions)
    imports = ["from pathlib import Path\n"] if beside else []
    imports.append(f"from core.api import {', '.join(_imported(definitions))}")
    body = "\n".join(
        [
            f"    {text(names.WHOLE)}: {{",
            *(_entry(name, layer, 8) for name, layer in whole.items()),
            "    },",
            f"    {text(names.TOP)}: {{",
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
    content = "\n".join(parts)
    return _DIGEST.sub(lambda match: match[0] + _digest(content), content, count=1)


def check_unedited(path: Path) -> None:
    """Raise where ``path`` holds something that nobody would want to lose.

    Raises:
        UsageError: it was edited since it was written, or was not written by this program.
    """
    try:
        found = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"--output {path} cannot be read: {error}", "Choose another file."
        ) from error
    match = _DIGEST.search(found)
    emptied = _DIGEST.sub(lambda match: match[0].removesuffix(match[1]), found, count=1)
    if match is None or match[1] != _digest(emptied):
        why = "was edited" if match else "was not written by generate"
        raise UsageError(
            f"--output {path} {why}", "Choose another file, or overwrite it with --force."
        )


def _digest(content: str) -> str:
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _head(
    traces: Sequence[ModelTrace], layers: Sequence[UniqueLayer], command: Sequence[str]
) -> str:
    models = ", ".join(trace.source.name for trace in traces)
    calls = sum(len(trace.calls) for trace in traces)
    return (
        f"The unique layers of {models}: {len(layers):,} for {calls:,} calls.\n\n"
        "Written by the command below, which writes the same again. It may be edited: what\n"
        "`predict` needs is the `subject` of each entry.\n\n"
        f"{_command(command)}\n\n"
        "Digest, by which edits are noticed: \n"
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
    lines.append(f"metadata={literal(definition.metadata, inner, len('metadata='))}")
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
