"""Calls: an entry in one variant, with everything decided that its code needs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import attrs

from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.operators.entries import (
    COMPLEX,
    DEFAULT_DTYPE,
    FLOATS,
    Distribution,
    OperatorEntry,
    Shape,
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

    @property
    def differentiates(self) -> bool:
        """Whether there is a backward pass."""
        return self.entry.autograd and any(value.requires_grad for value in self.values)

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
class Ref:
    """A variable of the setup."""

    name: str


@attrs.frozen
class Overrides:
    """What is asked for in place of what the entries say."""

    variants: tuple[str, ...] = ("typical",)
    dtypes: tuple[str, ...] = ()
    inputs: tuple[Mapping[str, Shape], ...] = ()
    """Shapes by input; each mapping gives a call of its own, in place of the variants."""
    seed: int = 0


def calls(entry: OperatorEntry, overrides: Overrides) -> Iterator[Call]:
    """Every call of an entry that is asked for; an entry without a variant asked for has none.

    Several dtypes give several calls, but where every tensor has a dtype of its own.

    Raises:
        UsageError: an input is named that the entry has not, or has too few dimensions for what
            is an index into it.
    """
    for dtype in (overrides.dtypes if entry.follows_dtype else ()) or ("",):
        if not overrides.inputs:
            for variant in entry.variants:
                if variant in overrides.variants:
                    yield _call(entry, variant, variant, {}, dtype, overrides.seed)
        for shapes in overrides.inputs:
            _check_inputs(entry, shapes)
            usual = "typical" if "typical" in entry.variants else entry.variants[0]
            label = ", ".join(f"{name}={list(shape)}" for name, shape in shapes.items())
            yield _call(entry, usual, label, shapes, dtype, overrides.seed)


def together(shapes: Mapping[str, Sequence[Shape]]) -> tuple[Mapping[str, Shape], ...]:
    """Which shapes go together: those at one position; a single one goes with all.

    Raises:
        UsageError: two inputs have several shapes each, and not as many.
    """
    lengths = {name: len(several) for name, several in shapes.items() if len(several) > 1}
    if len(set(lengths.values())) > 1:
        counts = ", ".join(f"{number} of {name}" for name, number in lengths.items())
        raise UsageError(
            f"Shapes are paired up, but their numbers differ: {counts}",
            "Give each input either one shape or as many as the others.",
        )
    count = max(lengths.values(), default=1 if shapes else 0)
    return tuple(
        {name: several[place if len(several) > 1 else 0] for name, several in shapes.items()}
        for place in range(count)
    )


def _check_inputs(entry: OperatorEntry, shapes: Mapping[str, Shape]) -> None:
    for name in shapes:
        if not isinstance(entry.inputs.get(name), Tensor):
            known = [name for name, value in entry.inputs.items() if isinstance(value, Tensor)]
            raise UsageError(
                f'{entry.name} has no tensor "{name}"',
                f"It has {', '.join(known) or 'none'}. Choose one of them, or fewer operators.",
            )


def _call(
    entry: OperatorEntry,
    variant: str,
    label: str,
    shapes: Mapping[str, Shape],
    dtype: str,
    seed: int,
) -> Call:
    values: list[Value] = []
    arguments: dict[str, Any] = {}
    sizes = {
        name: shapes.get(name, at(tensor.shape, variant))
        for name, tensor in entry.inputs.items()
        if isinstance(tensor, Tensor)
    }
    for name, given in entry.inputs.items():
        if isinstance(given, Tensor):
            values.append(_value(name, given, sizes[name], sizes, entry, dtype))
            arguments[name] = Ref(name)
        else:
            parts = [
                _value(f"{name}_{place}", part, at(part.shape, variant), sizes, entry, dtype)
                for place, part in enumerate(given)
            ]
            values += parts
            arguments[name] = tuple(Ref(part.name) for part in parts)
    arguments |= {name: at(value, variant) for name, value in entry.kwargs.items()}
    first = [name for name in entry.inputs if name not in entry.positional]
    by_position = [*first, *entry.positional]
    return Call(
        entry=entry,
        variant=label,
        dtype=dtype,
        seed=seed,
        values=tuple(values),
        positional=tuple(arguments.pop(name) for name in by_position),
        keywords=arguments,
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
    can = dtype in (*FLOATS, *COMPLEX)
    wanted = entry.autograd if tensor.requires_grad is None else tensor.requires_grad
    distribution = tensor.distribution or usual(dtype)
    if distribution.name == "index_of":
        size = _size_of(distribution, sizes[distribution.of], f"{entry.name}: {name}")
        distribution = Distribution("integers", 0, max(1, size))
    return Value(name, shape, dtype, distribution, can and wanted and not entry.in_place)


def _size_of(index: Distribution, shape: Shape, place: str) -> int:
    if not has_dimension(shape, index.dim):
        raise UsageError(
            f"{place} is an index into dimension {index.dim} of {index.of}, "
            f"whose shape is {list(shape)}",
            f"Give {index.of} more dimensions.",
        )
    return shape[index.dim]


def usual(dtype: str) -> Distribution:
    """How values of a dtype are drawn where nothing says otherwise."""
    if dtype == "bool":
        return Distribution("bernoulli")
    if dtype in (*FLOATS, *COMPLEX):
        return Distribution("normal")
    return Distribution("integers", 0, 10)
