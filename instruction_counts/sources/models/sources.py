"""What is taken apart: a model and its inputs, as the command line names them."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

import attrs

from instruction_counts.core.errors import quoted
from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.inputs import InputSpec

_FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_SAVED = {
    ".pt2": "torch.export.load({}).module()",
    ".pt": "torch.jit.load({})",
    ".ts": "torch.jit.load({})",
    ".onnx": "onnx2torch.convert({})",
}


@attrs.frozen
class ModelSource:
    """Where a model comes from."""

    name: str
    """How results call it."""
    target: str
    """``module:factory``."""


def parse_source(text: str) -> ModelSource:
    """A model from ``module:factory[=NAME]``.

    Raises:
        UsageError: it has another form; for a file, the remedy is a factory that loads it.
    """
    target, _, name = text.partition("=")
    if _FACTORY.fullmatch(target):
        return ModelSource(name or target.rpartition(":")[2], target)
    for suffix, code in _SAVED.items():
        if target.endswith(suffix):
            # A whole one, since cases run in folders of their own.
            path = json.dumps(str(Path(target).absolute()), ensure_ascii=False)
            remedy = f"Load it in a function, and name that: def net(): return {code.format(path)}"
            raise UsageError(f"--model {quoted(text)} is a file", remedy)
    raise UsageError(f"--model {quoted(text)} is not a factory", "Name one: module:factory[=NAME]")


def inputs_of(source: ModelSource, specs: Sequence[InputSpec]) -> tuple[InputSpec, ...]:
    """The inputs of a model: its own where it has any, else those for all.

    Raises:
        UsageError: two of them are for one argument.
    """
    own = [spec for spec in specs if spec.model == source.name]
    chosen = own or [spec for spec in specs if spec.model is None]
    names = [spec.name for spec in chosen if spec.name is not None]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f"--input {name}=…: {source.name} got this argument twice", "Specify it only once."
            )
    return tuple(chosen)


def check(sources: Sequence[ModelSource], specs: Sequence[InputSpec]) -> None:
    """Raise where two models have one name, or an input is for none of them.

    Raises:
        UsageError: what is wrong.
    """
    names = [source.name for source in sources]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(
                f'two models are named "{name}"', "Name them: --model module:factory=NAME"
            )
    for spec in specs:
        if spec.model is not None and spec.model not in names:
            raise UsageError(
                f'--input {spec.model}@…: no model is named "{spec.model}"',
                f"Models: {', '.join(names)}",
            )
