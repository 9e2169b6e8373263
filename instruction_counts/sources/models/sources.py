"""What is taken apart: a model and its inputs, as the command line names them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import attrs

from instruction_counts.domain.errors import UsageError

FACTORY = "factory"
EXPORTED = ".pt2"

_KINDS = {
    ".pt2": EXPORTED,
    ".ts": ".ts",
    ".pt": ".ts",
    ".pth": ".ts",
    ".torchscript": ".ts",
    ".onnx": ".onnx",
}
_FACTORY = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_][\w.]*")
_INPUT = re.compile(
    r"(?:(?P<model>[^@]+)@)?(?:(?P<name>[A-Za-z_]\w*)=)?(?P<shape>\d+(?:,\d+)*)"
    r"(?::(?P<dtype>[a-z]\w*))?(?:<(?P<high>\d+))?"
)
_MODELS = "module:factory[=NAME], or a file that ends in .pt2, .ts, .pt, .torchscript or .onnx"
_INPUTS = "[MODEL@][NAME=]SIZES[:DTYPE][<LIMIT], as 1,3,224,224 or input_ids=1,128:int64<30522"


@attrs.frozen
class Source:
    """Where a model comes from."""

    name: str
    """How results call it."""
    target: str
    """``module:factory``, or the path of a file."""
    kind: str
    """``factory``, or the format of the file: ``.pt2``, ``.ts`` (TorchScript), ``.onnx``."""


@attrs.frozen
class InputSpec:
    """One input of a model: integers are below ``high``."""

    shape: tuple[int, ...]
    dtype: str = "float32"
    high: int | None = None
    name: str | None = None
    """Of the argument, where it is not given by position."""
    model: str | None = None
    """The model that it is for; None for all."""


def parse_source(text: str) -> Source:
    """A model from ``module:factory[=NAME]`` or ``FILE[=NAME]``.

    Raises:
        UsageError: it is neither, or no file is there.
    """
    target, _, name = text.partition("=")
    if _FACTORY.fullmatch(target):
        return Source(name or target.rpartition(":")[2], target, FACTORY)
    path = Path(target)
    kind = _KINDS.get(path.suffix)
    if kind is None:
        raise UsageError(f'--model "{text}" is neither a factory nor a known file type', _MODELS)
    if not path.is_file():
        raise UsageError(f"--model {text}: file not found: {target}", _MODELS)
    return Source(name or path.stem, target, kind)


def parse_input(text: str) -> InputSpec:
    """An input from ``[MODEL@][NAME=]SIZES[:DTYPE][<LIMIT]``.

    Raises:
        UsageError: it has another form.
    """
    match = _INPUT.fullmatch(text.replace(" ", ""))
    if match is None:
        raise UsageError(f'--input "{text}" is no shape', _INPUTS)
    dtype, high = match["dtype"] or "float32", match["high"]
    if high is not None and (int(high) < 1 or dtype.startswith(("float", "bfloat", "complex"))):
        raise UsageError(
            f'--input "{text}": only integer inputs have a limit, and it must be above 0', _INPUTS
        )
    shape = tuple(map(int, match["shape"].split(",")))
    return InputSpec(shape, dtype, int(high) if high else None, match["name"], match["model"])


def inputs_of(
    source: Source, specs: Sequence[InputSpec], batch_size: int | None
) -> tuple[InputSpec, ...]:
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
    if batch_size is None:
        return tuple(chosen)
    return tuple(attrs.evolve(spec, shape=(batch_size, *spec.shape[1:])) for spec in chosen)


def check_exported(
    sources: Sequence[Source],
    specs: Sequence[InputSpec],
    *,
    training: bool,
    batch_size: int | None,
) -> None:
    """Raise where an exported program is to be what it was not exported as.

    Raises:
        UsageError: what is wrong.
    """
    for source in sources:
        if source.kind != EXPORTED:
            continue
        if training:
            raise UsageError(
                f"--train: {source.target} was exported with a fixed mode",
                "Omit --train, or export the model in training mode.",
            )
        if batch_size is not None and not inputs_of(source, specs, None):
            raise UsageError(
                f"--batch-size: {source.target} was exported with fixed inputs",
                f"Omit --batch-size, or give --input {source.name}@SIZES.",
            )


def check(sources: Sequence[Source], specs: Sequence[InputSpec]) -> None:
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
