"""A model as the calls that it makes: values, read from what a build answers."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import cattrs

from instruction_counts.builds.probing import inquire
from instruction_counts.core.facts import Use
from instruction_counts.domain.build import Build
from instruction_counts.sources.inputs import InputSpec, ModelSource


@attrs.frozen
class LayerInput:
    """A tensor that goes into a call; integers are below ``high``."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    stride: tuple[int, ...] | None = None
    """None where it is contiguous."""
    high: int | None = None
    needs_grad: bool = False

    @property
    def extent(self) -> int:
        """How many elements its memory spans."""
        if self.stride is None or 0 in self.shape:
            return math.prod(self.shape)
        steps = zip(self.shape, self.stride, strict=True)
        return 1 + sum((size - 1) * step for size, step in steps)


@attrs.frozen
class Result:
    """The tensor that comes out of a call, and how it is picked from its output."""

    pick: str
    shape: tuple[int, ...]
    dtype: str


@attrs.frozen
class ModelLayer:
    """A call without its place in a model; equal ones cost the same."""

    kind: str
    """``module`` or ``operator``."""
    type: str
    """``Conv2d``, ``aten.add.Tensor``."""
    call: str
    """As code: ``model(x)``, ``torch.add(a, b)``."""
    inputs: tuple[LayerInput, ...]
    result: Result | None
    positional: tuple[Any, ...] = ()
    keywords: tuple[tuple[str, Any], ...] = ()
    """Arguments of the constructor that are not the default."""
    dtype: str = "torch.float32"
    """Of the parameters."""
    training: bool = False
    has_parameters: bool = False
    """Whether it has any that get a gradient."""
    is_frozen: bool = False
    """Whether none of its parameters gets a gradient, though others of the model do."""
    is_plain: bool = False
    """Whether all arguments of the call are tensors, given by position."""

    @property
    def title(self) -> str:
        """The type as people know it: ``Conv2d``, ``add``."""
        return self.type.split(".")[1] if self.kind == "operator" else self.type

    @property
    def has_backward(self) -> bool:
        """Whether a gradient can flow through it."""
        if self.result is None or not self.result.dtype.startswith(("float", "bfloat", "complex")):
            return False
        return self.has_parameters or any(tensor.needs_grad for tensor in self.inputs)


@attrs.frozen
class ModelTrace:
    """What a model does, in order; and what is not in that."""

    source: ModelSource
    calls: tuple[tuple[ModelLayer, str], ...]
    """Each layer where it was called: ``features.0.conv``; the empty path is the model itself."""
    inputs: tuple[LayerInput, ...]
    """Their names are those of arguments; empty for one given by position."""
    result: Result | None
    taken_apart: Mapping[str, str]
    """Modules that are represented by their operators, with the reason."""
    left_out: Mapping[str, int]
    """Operators with the reason, and how often they were called."""
    is_local: bool
    """Whether the factory's module lies in the working directory."""
    has_mode: bool = True
    """Whether it can be trained or not; an exported program stays as it was exported."""


@attrs.frozen
class TraceMode:
    """How models are taken apart."""

    level: str = "modules"
    training: bool = False
    backward: bool = False
    real_data: bool = False
    device: str | None = None
    """Where the definitions have their tensors; models are taken apart on the CPU."""
    runtimes: tuple[str, ...] = ()
    """What is written is measured so, too: ``compiled``, ``exported``."""

    @property
    def moved(self) -> str:
        """What follows a tensor or a module that is made on the CPU."""
        return "" if self.device is None else ".to(device)"


def take_apart(
    build: Build,
    source: ModelSource,
    inputs: tuple[InputSpec, ...],
    mode: TraceMode,
    *,
    timeout_s: float,
) -> ModelTrace:
    """Run a model in ``build`` on fake tensors, from the working directory, and note its calls.

    Raises:
        DataError: it cannot be loaded, or does not run.
    """
    request = {
        "model": source.target,
        "inputs": [
            {**attrs.asdict(tensor), "dtype": tensor.dtype or "float32"} for tensor in inputs
        ],
        **attrs.asdict(mode),
    }
    answer = inquire(build, "trace", request, timeout_s=timeout_s, cwd=Path.cwd())
    return read_trace(source, answer)


def read_trace(source: ModelSource, answer: Mapping[str, Any]) -> ModelTrace:
    """The answer of ``worker/models.py`` as values."""
    found = _frozen(answer)
    calls = [(call, call["path"]) for call in found["calls"]]
    return cattrs.structure({**found, "source": attrs.asdict(source), "calls": calls}, ModelTrace)


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _frozen(part) for name, part in value.items()}
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def unique_layers(traces: Sequence[ModelTrace]) -> dict[ModelLayer, tuple[Use, ...]]:
    """Each layer once, in the order in which it is first called, with all places that use it."""
    uses: dict[ModelLayer, Counter[tuple[str, str]]] = {}
    for trace in traces:
        for layer, path in trace.calls:
            uses.setdefault(layer, Counter())[trace.source.name, path] += 1
    return {
        layer: tuple(Use(*place, count) for place, count in places.items())
        for layer, places in uses.items()
    }
