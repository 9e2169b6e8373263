"""Files of operators: read as a whole, each mistake with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any

import attrs

from instruction_counts.domain.errors import UsageError
from instruction_counts.reading.documents import one_of, read
from instruction_counts.reading.structure import (
    Check,
    Mismatch,
    located,
    require_version,
    structured,
)
from instruction_counts.sources.operators.entries import (
    CONVERTER,
    FAMILIES,
    SIZE,
    Families,
    OperatorEntry,
    Stated,
    at,
    each_tensor,
    has_dimension,
)
from instruction_counts.sources.operators.sizes import sizes_in

VERSION = 1
_REMEDY = "See docs/how-to/operators.md for the form of an entry."
_NAME = re.compile(r"(?:torch(?:\.(?:nn\.functional|linalg|fft|special|sparse))?|Tensor)\.\w+")
_NAMES = (
    "torch.X, torch.nn.functional.X, torch.linalg.X, torch.fft.X, torch.special.X, torch.sparse.X "
    "or Tensor.X"
)


@attrs.frozen(kw_only=True)
class _File:
    shapes: Any = None
    """Read before, since operators name them."""
    operators: Annotated[
        Mapping[Annotated[str, Check(_NAME.fullmatch, _NAMES)], Stated],
        Check(len, "at least one operator"),
    ]


require_version(CONVERTER, _File, "version", VERSION)


def read_operators(path: Path) -> tuple[OperatorEntry, ...]:
    """The operators of a file, in its order.

    Raises:
        DataError: the file is missing, or holds problems: all of its form, or else all of what
            does not go together.
    """
    root = read(path, _REMEDY)
    named = root.below("shapes")
    FAMILIES.set(structured(named, Families, CONVERTER) if named.steps else {})  # type: ignore[type-abstract]
    file = structured(root, _File, CONVERTER)
    entries = [
        OperatorEntry(
            **attrs.asdict(stated, recurse=False),
            name=name,
            file=str(path),
            line=root.below("operators", name).line,
        )
        for name, stated in file.operators.items()
    ]
    mistakes = [
        Mismatch(mistake.expected, mistake.found, ("operators", entry.name, *mistake.at))
        for entry in entries
        for mistake in _mistakes(entry)
    ]
    if mistakes:
        raise located(root, mistakes)
    return tuple(entries)


def _mistakes(entry: OperatorEntry) -> Iterator[Mismatch]:
    """What only shows when the fields are seen together."""
    if entry.is_method and not entry.inputs and entry.python is None:
        yield Mismatch("at least one input, for the receiver", "none", ("inputs",))
    if not entry.variants:
        yield Mismatch("at least one variant shared by all shapes and values", "no shared variant")
    yield from _mistakes_of_indices(entry)
    for name in entry.inputs.keys() & entry.kwargs.keys():
        yield Mismatch(f"a name other than {name}, which is also an input", at=("kwargs", name))
    known = [*entry.inputs, *entry.kwargs]
    for place, name in enumerate(entry.positional):
        if name not in known or name in entry.positional[:place]:
            expected = one_of(known, name) if name not in known else "unique names"
            yield Mismatch(expected, at=("positional", place))
    for name in entry.scale.keys() - entry.tensors.keys():
        yield Mismatch(one_of(entry.tensors, name), f'"{name}"', ("scale", name))
    if entry.scale and not any(SIZE in shape for shape in entry.scale.values()):
        yield Mismatch(f"{SIZE} in at least one shape, such as [{SIZE}, 64]", at=("scale",))
    if entry.sizes:
        try:
            sizes_in(entry.sizes)
        except UsageError as error:
            yield Mismatch(error.remedy, at=("sizes",))


def _mistakes_of_indices(entry: OperatorEntry) -> Iterator[Mismatch]:
    for name, tensor in each_tensor(entry.inputs):
        index = tensor.distribution
        if index is None or not index.of:
            continue
        if index.of not in entry.tensors:
            expected = one_of(entry.inputs, index.of)
            yield Mismatch(expected, f'index_of "{index.of}"', ("inputs", name))
            continue
        for variant in entry.variants:
            size = at(entry.tensors[index.of].shape, variant)
            if not has_dimension(size, index.dim):
                expected = f"a dimension of {index.of}, which is {list(size)}"
                found = f"index_of [{index.of}, {index.dim}]"
                yield Mismatch(expected, found, ("inputs", name))
