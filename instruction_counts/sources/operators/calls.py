"""Calls: an entry in one variant, with everything decided that its code needs."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.operators.entries import (
    DEFAULT_DTYPE,
    WITH_GRADIENTS,
    Distribution,
    OperatorEntry,
    Shape,
    T,
    Tensor,
    at,
    has_dimension,
)


@attrs.frozen
class Value:
    """A tensor that the setup makes, under the name of its variable."""

    name: str
    shape: Shape
    dtype: str
    distribution: Distribution
    requires_grad: bool


@attrs.frozen
class Ref:
    """A variable of the setup."""

    name: str


@attrs.frozen
class Call:
    """One operator with its arguments, ready to be written in any language."""

    entry: OperatorEntry
    variant: str
    """``typical``, or the shapes that were asked for instead: ``input=[32, 3]``."""
    dtype: str
    """As it was asked for; empty where it was not, or no tensor follows it."""
    seed: int
    values: tuple[Value, ...]
    positional: tuple[Any, ...]
    """A `Ref` is a tensor, a tuple of them a list of tensors; anything else is a plain value."""
    keywords: Mapping[str, Any]
    devices: tuple[str, ...] = ()
    """Where its tensors are, one case on each; empty is the CPU, where nothing was asked for."""

    @property
    def creates(self) -> bool:
        """Whether no tensor goes in that says where the output is to be."""
        return not self.values

    @property
    def differentiates(self) -> bool:
        """Whether there is a backward pass."""
        return self.entry.differentiates and any(value.requires_grad for value in self.values)

    @property
    def main_dtype(self) -> str | None:
        """What was asked for, or else the usual, where a tensor has it; or else of the first."""
        kinds = [value.dtype for value in self.values]
        wanted = self.dtype or DEFAULT_DTYPE
        return wanted if wanted in kinds else next(iter(kinds), None)

    @property
    def shapes(self) -> dict[str, Shape]:
        """The shape of each tensor."""
        return {value.name: value.shape for value in self.values}


@attrs.frozen
class Overrides:
    """What is asked for in place of what the entries say."""

    variants: tuple[str, ...] = ("typical",)
    dtypes: tuple[str, ...] = ()
    inputs: tuple[Mapping[str, Shape], ...] = ()
    """Shapes by input; each mapping gives a call of its own, in place of the variants."""
    seed: int = 0
    devices: tuple[str, ...] = ()


def calls(entry: OperatorEntry, overrides: Overrides) -> Iterator[Call]:
    """Every call of an entry that is asked for; an entry without a variant asked for has none.

    Several dtypes give several calls, but where every tensor has a dtype of its own.

    Raises:
        UsageError: an input is named that the entry has not, or has too few dimensions for what
            is an index into it.
    """
    usual = entry.usual_variant
    asked = [
        (usual, ", ".join(f"{name}={list(shape)}" for name, shape in shapes.items()), shapes)
        for shapes in overrides.inputs
    ]
    if not asked:
        asked = [(name, name, {}) for name in entry.variants if name in overrides.variants]
    for dtype in (overrides.dtypes if entry.follows_dtype else ()) or ("",):
        for variant, label, shapes in asked:
            values, arguments = _made(entry, variant, shapes, dtype)
            first = [name for name in entry.inputs if name not in entry.positional]
            positional = tuple(arguments.pop(name) for name in (*first, *entry.positional))
            about = label, dtype, overrides.seed
            yield Call(entry, *about, values, positional, arguments, overrides.devices)


def _made(
    entry: OperatorEntry, variant: str, shapes: Mapping[str, Shape], dtype: str
) -> tuple[tuple[Value, ...], dict[str, Any]]:
    """The tensors of a call, and its arguments by their names."""
    for name in shapes.keys() - entry.tensors.keys():
        raise UsageError(
            f'{entry.name} has no tensor "{name}"',
            f"It has {', '.join(entry.tensors) or 'none'}. Choose one of them, or fewer operators.",
        )
    sizes = {
        name: shapes.get(name, at(tensor.shape, variant)) for name, tensor in entry.tensors.items()
    }
    values: list[Value] = []
    arguments = {name: at(value, variant) for name, value in entry.kwargs.items()}
    for name, given in entry.inputs.items():
        parts = (
            {name: given}
            if isinstance(given, Tensor)
            else {f"{name}_{place}": part for place, part in enumerate(given)}
        )
        for variable, part in parts.items():
            shape = sizes.get(name, at(part.shape, variant))
            values.append(_value(variable, part, shape, sizes, entry, dtype))
        arguments[name] = Ref(name) if isinstance(given, Tensor) else tuple(map(Ref, parts))
    return tuple(values), arguments


def together(shapes: Mapping[str, Sequence[T]]) -> tuple[dict[str, T], ...]:
    """Which shapes go together, or dtypes: those at one position; a single one goes with all.

    Raises:
        UsageError: an input has none, or two have several shapes each, and not as many.
    """
    if without := [name for name, several in shapes.items() if not several]:
        raise UsageError(f"{without[0]} has no shape", "Give it one, or leave it out.")
    lengths = {name: len(several) for name, several in shapes.items() if len(several) > 1}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{number} of {name}" for name, number in lengths.items())
        raise UsageError(
            f"Shapes are paired up, but their numbers differ: {counts}",
            "Give each input either one shape or as many as the others.",
        )
    count = max(lengths.values(), default=1 if shapes else 0)
    return tuple(
        {name: several[place % len(several)] for name, several in shapes.items()}
        for place in range(count)
    )


def _value(
    name: str,
    tensor: Tensor,
    shape: Shape,
    sizes: Mapping[str, Shape],
    entry: OperatorEntry,
    asked: str,
) -> Value:
    dtype = tensor.dtype or asked or DEFAULT_DTYPE
    can = dtype in WITH_GRADIENTS and not entry.in_place
    wanted = entry.differentiates if tensor.requires_grad is None else tensor.requires_grad
    distribution = tensor.distribution or usual(dtype)
    if distribution.name == "index_of":
        target = sizes[distribution.of]
        if not has_dimension(target, distribution.dim):
            raise UsageError(
                f"{entry.name}: {name} is an index into dimension {distribution.dim} of "
                f"{distribution.of}, whose shape is {list(target)}",
                f"Give {distribution.of} more dimensions.",
            )
        distribution = Distribution("integers", 0, max(1, target[distribution.dim]))
    return Value(name, shape, dtype, distribution, can and wanted)


def usual(dtype: str) -> Distribution:
    """How values of a dtype are drawn where nothing says otherwise."""
    if dtype == "bool":
        return Distribution("bernoulli")
    if dtype in WITH_GRADIENTS:
        return Distribution("normal")
    return Distribution("integers", 0, 10)
