"""What is asked for in place of what entries say: from options, and from a file."""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import attrs

from instruction_counts.domain.errors import UsageError
from instruction_counts.reading.documents import read
from instruction_counts.reading.nodes import Node, Problems, choice, fields, integer, items, mapping
from instruction_counts.sources.operators.calls import Overrides, together
from instruction_counts.sources.operators.entries import DTYPES, LARGEST_SEED, VARIANTS, Shape
from instruction_counts.sources.operators.reading import shape

ALL = "all"
_EXAMPLE = (
    "Expected, for example:\n"
    "    dtype: [float32, float64]\n"
    "    shape: [small, typical]\n"
    "    seed: 1\n"
    "or, in place of shape:\n"
    "    input: {input: [[32, 128], [1, 128]]}"
)


@attrs.frozen
class Asked:
    """What one place asks for; None or nothing where it does not say."""

    variants: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    inputs: Mapping[str, tuple[Shape, ...]] = attrs.field(factory=dict)
    seed: int | None = None

    def over(self, other: Asked) -> Asked:
        """Both; what this one says holds, of shapes in either form."""
        shapes = self if self.variants or self.inputs else other
        return Asked(
            shapes.variants,
            self.dtypes or other.dtypes,
            shapes.inputs,
            other.seed if self.seed is None else self.seed,
        )

    def overrides(self) -> Overrides:
        """What holds, with what is usual where nothing is asked for.

        Raises:
            UsageError: shapes are asked for by name and by input.
        """
        if self.variants and self.inputs:
            named = ", ".join(self.variants)
            raise UsageError(
                f"--input sets the shapes, so --shape {named} has no effect",
                "Drop one of the two (this includes `input` and `shape` in an overrides file).",
            )
        return Overrides(
            VARIANTS if ALL in self.variants else self.variants or ("typical",),
            self.dtypes,
            together(self.inputs),
            self.seed or 0,
        )


def parse_inputs(texts: Iterable[str]) -> dict[str, tuple[Shape, ...]]:
    """Shapes by input, from texts such as ``input=[32,3,256,256]``.

    Raises:
        UsageError: a text has another form.
    """
    found: dict[str, tuple[Shape, ...]] = {}
    for text in texts:
        name, separator, sizes = text.partition("=")
        try:
            parsed = json.loads(sizes if sizes.strip().startswith("[") else f"[{sizes}]")
        except ValueError:
            parsed = None
        is_shape = isinstance(parsed, list) and all(
            type(size) is int and size >= 0 for size in parsed
        )
        if not separator or not name.isidentifier() or not is_shape:
            raise UsageError(
                f'--input "{text}" is not NAME=[SIZE,…]', "For example: input=[32,3,256,256]"
            )
        assert isinstance(parsed, list)
        found[name] = (*found.get(name, ()), tuple(parsed))
    together(found)  # so that a mistake is reported before anything is read
    return found


def read_overrides(path: Path) -> Asked:
    """The overrides of a YAML file: ``dtype``, ``shape``, ``input`` and ``seed``.

    Raises:
        DataError: the file is missing, or holds problems: all of them.
    """
    root = read(path, _EXAMPLE)
    problems = Problems()
    known: dict[str, Callable[[Node], Any]] = {
        "dtype": _dtypes,
        "shape": _variants,
        "input": _inputs,
        "seed": functools.partial(integer, minimum=0, maximum=LARGEST_SEED),
    }
    names = {"dtype": "dtypes", "shape": "variants", "input": "inputs", "seed": "seed"}
    parts = problems.attempt(fields, root, (), tuple(known), otherwise={})
    found = {
        names[name]: problems.attempt(known[name], node, otherwise=None)
        for name, node in parts.items()
    }
    problems.raise_any(_EXAMPLE)
    return Asked(**found)


def _several(node: Node) -> list[Node]:
    return items(node) if isinstance(node.value, list) else [node]


def _dtypes(node: Node) -> tuple[str, ...]:
    return tuple(choice(item, DTYPES) for item in _several(node))


def _variants(node: Node) -> tuple[str, ...]:
    return tuple(choice(item, (*VARIANTS, ALL)) for item in _several(node))


def _inputs(node: Node) -> dict[str, tuple[Shape, ...]]:
    found = {
        name: tuple(shape(size) for size in items(below))
        if any(isinstance(item.value, list) for item in items(below))
        else (shape(below),)
        for name, below in mapping(node).items()
    }
    try:
        together(found)
    except UsageError as error:
        raise node.unlike(error.remedy, error.message) from None
    return found
