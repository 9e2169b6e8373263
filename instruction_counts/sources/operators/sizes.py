"""One operator over a range of sizes: which sizes, and the shapes that grow with them."""

import math
import re
from collections.abc import Mapping, Sequence

from instruction_counts.core.errors import quoted
from instruction_counts.domain.errors import UsageError
from instruction_counts.sources.inputs import MOST_ELEMENTS
from instruction_counts.sources.operators.entries import SIZE, OperatorEntry, Shape, Template, at

LEAST_POINTS = 4
"""Sizes that a fit needs."""
_USUAL_POINTS = 7
_USUAL_ELEMENTS = 2**16
_CLOSE = 256
_MOST_DIMENSIONS = 64
_PART = re.compile(rf"{SIZE}|[0-9]{{1,18}}")  # what fits into torch's sizes


def usual_sizes(templates_: Mapping[str, Template]) -> tuple[int, ...]:
    """Powers of two, the largest of which gives no tensor more than 65,536 elements.

    At most seven sizes, and at least four, which a fit needs: shapes that are large without ``N``
    have four nevertheless.
    """
    last = 2 ** (LEAST_POINTS - 1)
    while max(2 * last, *map(math.prod, at_size(templates_, 2 * last).values())) <= _USUAL_ELEMENTS:
        last *= 2
    factor = 2 if last <= _CLOSE else 4
    # Some operators refuse the smallest sizes.
    least = max(1, min(4, last // factor ** (LEAST_POINTS - 1)))
    sizes = (last // factor**step for step in reversed(range(_USUAL_POINTS)))
    return tuple(size for size in sizes if size >= least)


def check_sizes(templates_: Mapping[str, Template], sizes: Sequence[int]) -> None:
    """Refuse sizes at which a tensor would not fit into memory together with others.

    Raises:
        UsageError: a tensor would have more than 2^28 elements (1 GiB of float32).
    """
    for name, shape in at_size(templates_, max(sizes)).items():
        if math.prod(shape) > MOST_ELEMENTS:
            raise UsageError(
                f"{name} would have {math.prod(shape):,} elements at N = {max(sizes):,}",
                f"The maximum is {MOST_ELEMENTS:,}: choose smaller sizes.",
            )


def templates(entry: OperatorEntry, asked: Sequence[str]) -> dict[str, Template]:
    """The shape of each input with ``N`` in it: as asked, or else as the entry suggests.

    Where the entry suggests nothing, every size that equals the first one of the first input grows
    with it, so that shapes that belong together keep doing so.

    Raises:
        UsageError: a template has another form, names no input, or
            there is no ``N`` anywhere.
    """
    if entry.scale and not asked:
        return dict(entry.scale)
    found = dict(_template(text, entry) for text in asked)
    if not asked:
        shapes = {
            name: at(tensor.shape, entry.usual_variant) for name, tensor in entry.tensors.items()
        }
        first = next((shape[0] for shape in shapes.values() if shape), None)
        found = {
            name: tuple(SIZE if size == first else size for size in shape)
            for name, shape in shapes.items()
        }
    if not any(SIZE in shape for shape in found.values()):
        raise UsageError(
            f"{entry.name} has no shape to scale",
            f"Give one of these inputs a shape with {SIZE}, such as [{SIZE},64]: "
            f"{', '.join(entry.tensors) or 'none'}.",
        )
    return {name: shape for name, shape in found.items() if SIZE in shape or asked}


def _template(text: str, entry: OperatorEntry) -> tuple[str, Template]:
    name, _, shape = text.partition("=")
    parts = [part.strip() for part in shape.strip().removeprefix("[").removesuffix("]").split(",")]
    if name not in entry.tensors:
        raise UsageError(
            f'--input {name}: {entry.name} has no tensor "{name}"',
            f"It has {', '.join(entry.tensors) or 'none'}.",
        )
    if len(parts) > _MOST_DIMENSIONS or not all(map(_PART.fullmatch, parts)):
        raise UsageError(
            f"--input {quoted(text)} is not a valid shape", f"For example: input={SIZE},64"
        )
    return name, tuple(SIZE if part == SIZE else int(part) for part in parts)


def at_size(templates_: Mapping[str, Template], size: int) -> dict[str, Shape]:
    """The shapes with a size in place of ``N``."""
    return {
        name: tuple(size if isinstance(extent, str) else extent for extent in shape)
        for name, shape in templates_.items()
    }
