"""Files of operators: what an entry may say, read as a whole, each mistake with its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import attrs

from instruction_counts.domain.bounds import Bounds, Count
from instruction_counts.domain.errors import UsageError
from instruction_counts.reading.documents import read
from instruction_counts.reading.nodes import one_of
from instruction_counts.reading.structure import (
    Check,
    Mismatch,
    Parsed,
    Text,
    among,
    located,
    refuse,
    require_version,
    strict_converter,
    structured,
)
from instruction_counts.sources.operators.entries import (
    COMPLEX,
    DEFAULT_DTYPE,
    DISTRIBUTIONS,
    DTYPES,
    FLOATS,
    SIZE,
    VARIANTS,
    ByVariant,
    Distribution,
    Input,
    OperatorEntry,
    Shape,
    Tensor,
    at,
    each_tensor,
    has_dimension,
    is_argument,
    is_variable,
)
from instruction_counts.sources.operators.sizes import sizes_in

VERSION = 1
_CONVERTER = strict_converter()
_REMEDY = "See docs/how-to/operators.md for the form of an entry."
_MOST_TENSORS = 1_000
_NAME = re.compile(r"(?:torch(?:\.(?:nn\.functional|linalg|fft|special|sparse))?|Tensor)\.\w+")
_NAMES = (
    "torch.X, torch.nn.functional.X, torch.linalg.X, torch.fft.X, torch.special.X, torch.sparse.X "
    "or Tensor.X"
)
_TORCH_OBJECT = re.compile(r"torch\.\w+")
_CATEGORY = re.compile(r"[a-z][a-z0-9 _-]*")
_OVERLOAD = re.compile(r"\w*")

T = TypeVar("T")


def read_operators(path: Path) -> tuple[OperatorEntry, ...]:
    """The operators of a file, in its order.

    Raises:
        DataError: the file is missing, or holds problems: all of its form, or else all of what
            does not go together.
    """
    root = read(path, _REMEDY)
    file = structured(root, _File, _CONVERTER, _REMEDY)
    lines = {name: node.line for name, node in root.below(["operators"]).value.items()}
    entries: list[OperatorEntry] = []
    mistakes: list[Mismatch] = []
    for name, stated in file.operators.items():
        found = list(stated.unknown_families(file.shapes))
        if not found:
            entry = stated.entry(name, str(path), lines[name], file.shapes)
            found = list(_mistakes(entry, stated))
            entries.append(entry)
        mistakes += (
            Mismatch(mistake.expected, mistake.found, ("operators", name, *mistake.at))
            for mistake in found
        )
    if mistakes:
        raise located(root, mistakes, _REMEDY)
    return tuple(entries)


# ---------------------------------------------------------------------------------------------
# How values are drawn
# ---------------------------------------------------------------------------------------------


def _is_range(bounds: Sequence[float]) -> bool:
    return len(bounds) == 2 and bounds[0] < bounds[1]


def _is_index(index: Sequence[Any]) -> bool:
    return [type(part) for part in index] == [str, int]


@attrs.frozen
class Interval:
    """A distribution with bounds, of which the higher is excluded: ``{integers: [1, 5]}``."""

    uniform: Annotated[tuple[float, ...], Check(_is_range, "[low, high], low less than high")] = ()
    integers: Annotated[tuple[int, ...], Check(_is_range, "[low, high], low less than high")] = ()
    index_of: Annotated[tuple[str | int, ...], Check(_is_index, "[input, dimension]")] = ()

    def __attrs_post_init__(self) -> None:
        """Let only one be stated."""
        if sum(map(bool, (self.uniform, self.integers, self.index_of))) != 1:
            raise Mismatch("exactly one of uniform, integers and index_of")


_WORDS = tuple(name for name in DISTRIBUTIONS if name != "index_of")
Drawn: TypeAlias = Annotated[str, among(_WORDS)] | Interval
"""How files state a distribution: a word, or a word with its bounds."""


def distribution(stated: Drawn) -> Distribution:
    """The distribution that a file states."""
    if isinstance(stated, str):
        return Distribution(stated, high=10) if stated == "integers" else Distribution(stated)
    if stated.index_of:
        return Distribution("index_of", of=str(stated.index_of[0]), dim=int(stated.index_of[1]))
    name = "integers" if stated.integers else "uniform"
    return Distribution(name, *(stated.integers or stated.uniform))


# ---------------------------------------------------------------------------------------------
# Inputs and arguments
# ---------------------------------------------------------------------------------------------

_Variants: TypeAlias = Annotated[
    Mapping[Annotated[str, among(VARIANTS)], T],
    Check(len, f"a value for at least one of {', '.join(VARIANTS)}", "none"),
]
_Sizes: TypeAlias = tuple[Count, ...]
_Shape: TypeAlias = str | _Sizes | _Variants[_Sizes]
"""The name of a family, a list of sizes, or one by variant."""
_Families: TypeAlias = Mapping[str, _Variants[_Sizes]]


@attrs.frozen
class _Tensor:
    """An input; where nothing but its shape is stated, that stands alone."""

    shape: _Shape
    dtype: Annotated[str, among(DTYPES)] | None = None
    distribution: Drawn | None = None
    requires_grad: bool | None = None

    def __attrs_post_init__(self) -> None:
        if self.requires_grad and (self.dtype or DEFAULT_DTYPE) not in (*FLOATS, *COMPLEX):
            refuse([Mismatch(f"false: {self.dtype} has no gradient", at=("requires_grad",))])

    def made(self, families: _Families) -> Tensor:
        """The tensor, with the shapes of its family."""
        shape = families[self.shape] if isinstance(self.shape, str) else self.shape
        return Tensor(
            shape if isinstance(shape, tuple) else ByVariant(shape),
            self.dtype,
            None if self.distribution is None else distribution(self.distribution),
            self.requires_grad,
        )


def _tensor(value: Any) -> _Tensor:
    if isinstance(value, dict) and not value.keys() & {*VARIANTS}:
        return _CONVERTER.structure(value, _Tensor)
    return _Tensor(_CONVERTER.structure(value, _Shape))  # type: ignore[arg-type]


_Element: TypeAlias = Annotated[_Tensor, Parsed(_tensor)]


@attrs.frozen
class _Listed:
    """An input that is a list: so many tensors that are alike, or each of its own."""

    several: Annotated[int, Bounds(1, _MOST_TENSORS)] | tuple[_Element, ...] = attrs.field(
        alias="list"
    )


def _input(value: Any) -> _Tensor | tuple[_Tensor, ...]:
    if not isinstance(value, dict) or "list" not in value:
        return _tensor(value)
    several = _CONVERTER.structure({"list": value["list"]}, _Listed).several
    others = {name: part for name, part in value.items() if name != "list"}
    if isinstance(several, int):
        return (_CONVERTER.structure(others, _Tensor),) * several
    refuse(Mismatch("no field beside the list", f'a field "{name}"', (name,)) for name in others)
    return several


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return tuple(map(_plain, value))
    if isinstance(value, str) and value.startswith("torch.") and not _TORCH_OBJECT.fullmatch(value):
        raise Mismatch("a torch object such as torch.float64")
    if value is not None and not isinstance(value, bool | int | float | str):
        raise Mismatch("a plain value, or a mapping of variants to values")
    return value


def _argument(value: Any) -> Any:
    if not isinstance(value, dict):
        return _plain(value)
    kind = _Variants[Annotated[Any, Parsed(_plain)]]
    return ByVariant(_CONVERTER.structure(value, kind))  # type: ignore[type-abstract]


def _range(text: str) -> str:
    try:
        sizes_in(text)
    except UsageError as error:
        raise Mismatch(error.remedy) from None
    return text


# ---------------------------------------------------------------------------------------------
# Entries
# ---------------------------------------------------------------------------------------------


@attrs.frozen
class _Entry:
    """An entry as it is stated; see `OperatorEntry`."""

    category: Annotated[str, Check(_CATEGORY.fullmatch, "lower-case words")]
    inputs: Mapping[
        Annotated[str, Check(is_variable, "a valid variable name in both Python and C++")],
        Annotated[_Tensor | tuple[_Tensor, ...], Parsed(_input)],
    ] = attrs.field(factory=dict)
    kwargs: Mapping[
        Annotated[str, Check(is_argument, "an argument name")], Annotated[Any, Parsed(_argument)]
    ] = attrs.field(factory=dict)
    positional: tuple[str, ...] = ()
    autograd: bool | None = None
    torchscript: bool = True
    compiled: bool = False
    output: Count | None = None
    python: Text | None = None
    cpp: (
        Annotated[
            Text | bool,
            Check(
                lambda code: code is not True,
                "C++ code, or false for none; omit the field to derive the code",
            ),
        ]
        | None
    ) = None
    overload: (
        Annotated[str, Check(_OVERLOAD.fullmatch, "the name of an overload, such as Tensor")] | None
    ) = None
    scale: Mapping[str, tuple[Count | Literal["N"], ...]] = attrs.field(factory=dict)
    sizes: Annotated[str, Parsed(_range)] = ""
    note: Text = ""

    def unknown_families(self, families: _Families) -> Iterator[Mismatch]:
        """The families that inputs name and the file does not have."""
        for name, tensor in each_tensor(self.inputs):
            if isinstance(tensor.shape, str) and tensor.shape not in families:
                place = ("inputs", name, "shape")
                yield Mismatch(one_of(families, tensor.shape), f'"{tensor.shape}"', place)

    def entry(self, name: str, file: str, line: int, families: _Families) -> OperatorEntry:
        """The entry of that name, which differentiates where it can unless it says otherwise."""
        inputs: dict[str, Input] = {
            name: tuple(part.made(families) for part in value)
            if isinstance(value, tuple)
            else value.made(families)
            for name, value in self.inputs.items()
        }
        stated = {field.name: getattr(self, field.name) for field in attrs.fields(type(self))}
        entry = OperatorEntry(**{**stated, "name": name, "inputs": inputs}, file=file, line=line)
        if self.autograd is not None:
            return entry
        return attrs.evolve(entry, autograd=_can_differentiate(entry))


@attrs.frozen
class _File:
    operators: Annotated[
        Mapping[Annotated[str, Check(_NAME.fullmatch, _NAMES)], _Entry],
        Check(len, "at least one operator", "none"),
    ]
    shapes: _Families = attrs.field(factory=dict)


require_version(_CONVERTER, _File, "version", VERSION)


def _can_differentiate(entry: OperatorEntry) -> bool:
    return not entry.in_place and any(
        (tensor.dtype or DEFAULT_DTYPE) in (*FLOATS, *COMPLEX) and tensor.requires_grad is not False
        for _, tensor in each_tensor(entry.inputs)
    )


def _mistakes(entry: OperatorEntry, stated: _Entry) -> Iterator[Mismatch]:
    """What only shows when the fields are seen together."""
    if entry.is_method and not entry.inputs and entry.python is None:
        yield Mismatch("at least one input, for the receiver", "none", ("inputs",))
    if not entry.variants:
        yield Mismatch("at least one variant shared by all shapes and values", "no shared variant")
    if stated.autograd and not _can_differentiate(entry):
        reason = "it works in place" if entry.in_place else "no input can require a gradient"
        yield Mismatch(f"false: {reason}", at=("autograd",))
    for name, tensor in each_tensor(entry.inputs):
        if tensor.distribution is not None and tensor.distribution.of:
            yield from _mistakes_of_index(entry, tensor.distribution, ("inputs", name))
    for name in entry.inputs.keys() & entry.kwargs.keys():
        yield Mismatch(f"a name other than {name}, which is also an input", at=("kwargs", name))
    yield from _mistakes_of_names(entry)
    alone = [name for name, value in entry.inputs.items() if isinstance(value, Tensor)]
    for name in entry.scale.keys() - alone:
        yield Mismatch(one_of(alone, name), f'"{name}"', ("scale", name))
    if entry.scale and not any(SIZE in shape for shape in entry.scale.values()):
        yield Mismatch(f"{SIZE} in at least one shape, such as [{SIZE}, 64]", at=("scale",))


def _mistakes_of_names(entry: OperatorEntry) -> Iterator[Mismatch]:
    owners: dict[str, str] = {}
    for name, value in entry.inputs.items():
        parts = range(len(value)) if isinstance(value, tuple) else ()
        for variable in [f"{name}_{place}" for place in parts] or [name]:
            other = owners.setdefault(variable, name)
            if other != name:
                found = f'"{variable}" of {other} and of {name}'
                yield Mismatch("unique variables", found, ("inputs", name))
    known = [*entry.inputs, *entry.kwargs]
    for place, name in enumerate(entry.positional):
        if name not in known:
            yield Mismatch(one_of(known, name), at=("positional", place))
        elif name in entry.positional[:place]:
            yield Mismatch("unique names", at=("positional", place))


def _mistakes_of_index(
    entry: OperatorEntry, index: Distribution, place: tuple[str, ...]
) -> Iterator[Mismatch]:
    target = entry.inputs.get(index.of)
    if target is None or isinstance(target, tuple):
        yield Mismatch(one_of(entry.inputs, index.of), f'index_of "{index.of}"', place)
        return
    for variant in entry.variants:
        size: Shape = at(target.shape, variant)
        if not has_dimension(size, index.dim):
            expected = f"a dimension of {index.of}, which is {list(size)}"
            yield Mismatch(expected, f"index_of [{index.of}, {index.dim}]", place)
