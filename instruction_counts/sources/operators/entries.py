"""Operators as ``definitions/operators.yaml`` states them: values, each mistake with its place."""

import keyword
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import attrs

from instruction_counts.core.checks import checked_compile_options, checked_dynamic_shapes
from instruction_counts.core.errors import DefinitionError, one_of
from instruction_counts.domain.bounds import Count
from instruction_counts.domain.errors import UsageError
from instruction_counts.reading.documents import read
from instruction_counts.reading.structure import (
    Check,
    Mismatch,
    Parsed,
    Text,
    among,
    located,
    require_version,
    strict_converter,
    structured,
)
from instruction_counts.sources.inputs import sizes_in
from instruction_counts.system.program import HOME

CONVERTER = strict_converter()
VARIANTS = ("small", "typical", "large", "skewed")
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
WITH_GRADIENTS = (*FLOATS, *COMPLEX)
INTEGERS = ("int8", "uint8", "int16", "int32", "int64")
DTYPES = (*WITH_GRADIENTS, *INTEGERS, "bool")
DEFAULT_DTYPE = "float32"
LARGEST_SEED = 2**63 - 1
"""That every torch takes, in Python and in C++."""

DISTRIBUTIONS = (
    *("normal", "uniform", "integers", "bernoulli", "zeros", "ones", "arange", "sorted"),
    *("permutation", "positive_definite", "lower_triangular"),
)

TAKEN = frozenset(
    """
    out gradient torch _ range jit_model ivalue_inputs warm_up_call warm_up_inputs compiled
    exported
    """.split()  # noqa: SIM905 - as below; see core.runtimes
)
"""Names that the code around a call uses."""

CPP_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class compl concept const const_cast consteval constexpr constinit continue co_await
    co_return co_yield decltype default delete do double dynamic_cast else enum explicit export
    extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq
    nullptr operator or or_eq private protected public register reinterpret_cast requires return
    short signed sizeof static static_assert static_cast struct switch template this thread_local
    throw true try typedef typeid typename union unsigned using virtual void volatile wchar_t while
    xor xor_eq
    """.split()  # noqa: SIM905 - a list has a line for each of them
)

SIZE = "N"
"""What stands for the size in a template."""

T = TypeVar("T")
Shape: TypeAlias = tuple[int, ...]
Template: TypeAlias = tuple[int | str, ...]
"""A shape that grows with `SIZE`."""
_TORCH_OBJECT = re.compile(r"torch\.\w+")
_CATEGORY = re.compile(r"[a-z][a-z0-9 _-]*")
_OVERLOAD = re.compile(r"\w*")
_NAME = re.compile(r"(?:torch(?:\.(?:nn\.functional|linalg|fft|special|sparse))?|Tensor)\.\w+")
_NAMES = (
    "torch.X, torch.nn.functional.X, torch.linalg.X, torch.fft.X, torch.special.X, torch.sparse.X "
    "or Tensor.X"
)

Variants: TypeAlias = Annotated[
    Mapping[Annotated[str, among(VARIANTS)], T],
    Check(len, f"a value for at least one of {', '.join(VARIANTS)}"),
]
_Families: TypeAlias = Mapping[str, Variants[tuple[Count, ...]]]
_families: ContextVar[_Families] = ContextVar("families")
"""The shapes that have names, while the entries of their file are read."""


def at(value: Any, variant: str) -> Any:
    """A value as it is in a variant, where it differs from one to the next."""
    return value[variant] if isinstance(value, Mapping) else value


# How values are drawn


@attrs.frozen
class Distribution:
    """How the values of a tensor are drawn; see `instruction_counts.sources.operators.code`."""

    name: str
    low: float = 0
    high: float = 1
    """Excluded."""
    of: str = ""
    """The input whose size the indices stay below, for ``index_of``."""
    dim: int = 0


_RANGE = Check(
    lambda bounds: len(bounds) == 2 and bounds[0] < bounds[1], "[low, high], low less than high"
)
_INDEX = Check(lambda index: [*map(type, index)] == [str, int], "[input, dimension]")


@attrs.frozen
class _Interval:
    """A distribution with bounds, of which the higher is excluded: ``{integers: [1, 5]}``."""

    uniform: Annotated[tuple[float, ...], _RANGE] = ()
    integers: Annotated[tuple[int, ...], _RANGE] = ()
    index_of: Annotated[tuple[str | int, ...], _INDEX] = ()

    def __attrs_post_init__(self) -> None:
        if sum(map(bool, (self.uniform, self.integers, self.index_of))) != 1:
            raise Mismatch("exactly one of uniform, integers and index_of")


_Word: Any = Annotated[str, among(DISTRIBUTIONS)]


def _distribution(value: Any) -> Distribution:
    if not isinstance(value, dict):
        name: str = CONVERTER.structure(value, _Word)
        return Distribution(name, high=10) if name == "integers" else Distribution(name)
    stated = CONVERTER.structure(value, _Interval)
    if stated.index_of:
        return Distribution("index_of", of=str(stated.index_of[0]), dim=int(stated.index_of[1]))
    name = "integers" if stated.integers else "uniform"
    return Distribution(name, *(stated.integers or stated.uniform))


Drawn: TypeAlias = Annotated[Distribution, Parsed(_distribution)]
"""A distribution as files state it: a word, or a word with its bounds."""

# Inputs and arguments


def _shape(value: Any) -> Shape | Mapping[str, Shape]:
    if isinstance(value, str):
        known = _families.get()
        if value not in known:
            alone = "a list of sizes, or a name that is stated under shapes"
            raise Mismatch(one_of(known, value) if known else alone)
        return known[value]
    if isinstance(value, dict):
        return CONVERTER.structure(value, Variants[tuple[Count, ...]])  # type: ignore[type-abstract]
    return CONVERTER.structure(value, tuple[Count, ...])


@attrs.frozen
class Tensor:
    """A tensor that is handed to an operator."""

    shape: Annotated[Shape | Mapping[str, Shape], Parsed(_shape)]
    """Or one for each variant; in files also the name of a family of these."""
    dtype: Annotated[str, among(DTYPES)] | None = None
    """None follows what is asked for; float32 if nothing is."""
    distribution: Drawn | None = None
    """None is what is usual for the dtype."""
    requires_grad: bool | None = None
    """None if and only if it can, where the operator differentiates."""


Input: TypeAlias = Tensor | tuple[Tensor, ...]
"""A tensor, or a list of them."""


def _tensor(value: Any) -> Tensor:
    return CONVERTER.structure(value, Tensor) if isinstance(value, dict) else Tensor(_shape(value))


@attrs.frozen
class _Listed:
    """An input that is a list of tensors."""

    several: tuple[Annotated[Tensor, Parsed(_tensor)], ...] = attrs.field(alias="list")


def _input(value: Any) -> Input:
    if isinstance(value, dict) and "list" in value:
        return CONVERTER.structure(value, _Listed).several
    return _tensor(value)


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
    kind = Variants[Annotated[Any, Parsed(_plain)]]
    return CONVERTER.structure(value, kind)  # type: ignore[type-abstract]


# Entries


def _range(value: Any) -> tuple[int, ...]:
    try:
        return sizes_in(CONVERTER.structure(value, str))
    except UsageError as error:
        raise Mismatch(error.remedy) from None


def _accepted_by(check: Callable[[Any], object]) -> Parsed:
    """A value that a definition can state."""

    def accept(value: Any) -> Any:
        try:
            check(value)
        except DefinitionError as error:
            raise Mismatch(error.expected, error.found) from None
        return value

    return Parsed(accept)


CompileOptions: TypeAlias = Annotated[
    bool | Mapping[str, Any], _accepted_by(checked_compile_options)
]
"""Whether something is compiled, too; or the arguments of ``torch.compile`` for it."""

ExportOptions: TypeAlias = Annotated[bool | Mapping[str, Any], _accepted_by(checked_dynamic_shapes)]
"""Whether something is exported, too; or the dimensions of its arguments that vary."""


def is_argument(name: str) -> bool:
    """Whether Python lets a value be handed over by this name."""
    return name.isidentifier() and not keyword.iskeyword(name)


def is_variable(name: str) -> bool:
    """Whether a tensor can have this name in both languages, and hides nothing of ours."""
    return is_argument(name) and name not in TAKEN | CPP_KEYWORDS


@attrs.frozen
class Stated:
    """What a file says of an operator."""

    category: Annotated[str, Check(_CATEGORY.fullmatch, "lower-case words")]
    inputs: Mapping[
        Annotated[str, Check(is_variable, "a valid variable name in both Python and C++")],
        Annotated[Input, Parsed(_input)],
    ] = attrs.field(factory=dict)
    kwargs: Mapping[
        Annotated[str, Check(is_argument, "an argument name")], Annotated[Any, Parsed(_argument)]
    ] = attrs.field(factory=dict)
    positional: tuple[str, ...] = ()
    """Inputs and keyword arguments that come by position, after the inputs not named here."""
    autograd: bool | None = None
    """None is wherever an input can have a gradient."""
    torchscript: bool = True
    compiled: CompileOptions = False
    exported: ExportOptions = False
    output: Count | None = None
    """Which part of what it returns is the output, where it returns several."""
    python: Text | None = None
    cpp: Text | Literal[False] | None = None
    """None derives it from torch's schema; False is none."""
    overload: (
        Annotated[str, Check(_OVERLOAD.fullmatch, "the name of an overload, such as Tensor")] | None
    ) = None
    scale: Mapping[str, tuple[Count | Literal["N"], ...]] = attrs.field(factory=dict)
    """How inputs grow over a range of sizes; nothing grows them by a rule."""
    sizes: Annotated[tuple[int, ...], Parsed(_range)] = ()
    """Those that are usual, stated as ``operators sizes`` takes them; empty goes by the inputs."""
    note: Text = ""


@attrs.frozen
class OperatorEntry(Stated):
    """One operator, with what it is given."""

    name: str = attrs.field(kw_only=True)
    """``torch.add``, ``torch.nn.functional.conv2d``, ``Tensor.add_``."""
    file: str = attrs.field(default="", kw_only=True)
    line: int = attrs.field(default=0, kw_only=True)

    @property
    def is_method(self) -> bool:
        """Whether the first input is the receiver."""
        return self.name.startswith("Tensor.")

    @property
    def in_place(self) -> bool:
        """Whether it changes its receiver."""
        short = self.name.rsplit(".", 1)[-1]
        return self.is_method and (
            (short.endswith("_") and not short.endswith("__")) or short == "__setitem__"
        )

    @property
    def differentiates(self) -> bool:
        """Whether there is a backward pass, unless another dtype is asked for."""
        if self.autograd is not None:
            return self.autograd
        return not self.in_place and any(
            (tensor.dtype or DEFAULT_DTYPE) in WITH_GRADIENTS and tensor.requires_grad is not False
            for _, tensor in self.each_tensor()
        )

    def each_tensor(self) -> Iterator[tuple[str, Tensor]]:
        """Every tensor among inputs, those of lists too, with the name of its input."""
        for name, value in self.inputs.items():
            yield from ((name, part) for part in (value if isinstance(value, tuple) else (value,)))

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The inputs that are single tensors."""
        return {name: value for name, value in self.inputs.items() if isinstance(value, Tensor)}

    @property
    def follows_dtype(self) -> bool:
        """Whether there is a tensor whose dtype can be asked for."""
        return any(tensor.dtype is None for _, tensor in self.each_tensor())

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants that all values of the entry have; ``typical`` where none differs."""
        shapes = [tensor.shape for _, tensor in self.each_tensor()]
        values = [value for value in (*shapes, *self.kwargs.values()) if isinstance(value, Mapping)]
        return tuple(
            name
            for name in (VARIANTS if values else ("typical",))
            if all(name in value for value in values)
        )

    @property
    def usual_variant(self) -> str:
        """The one that is taken where none is asked for."""
        return "typical" if "typical" in self.variants else self.variants[0]


def has_dimension(shape: Sequence[int], dim: int) -> bool:
    """Whether a shape has a dimension; negative ones are counted from its end."""
    return -len(shape) <= dim < len(shape)


# Files


@attrs.frozen(kw_only=True)
class _File:
    shapes: Any = None
    """Read before, since operators name them."""
    operators: Annotated[
        Mapping[Annotated[str, Check(_NAME.fullmatch, _NAMES)], Stated],
        Check(len, "at least one operator"),
    ]


require_version(CONVERTER, _File, "version", 1)


def read_operators(path: Path | None = None) -> tuple[OperatorEntry, ...]:
    """The operators of a file, in its order; None is the one that comes with this program.

    Raises:
        DataError: the file is missing, or holds problems: all of its form, or else all of what
            does not go together.
    """
    path = path or HOME / "definitions" / "operators.yaml"
    root = read(path, "See docs/how-to/operators.md for the form of an entry.")
    named = root.below("shapes")
    _families.set(structured(named, _Families, CONVERTER) if named.steps else {})  # type: ignore[type-abstract]
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


def _mistakes_of_indices(entry: OperatorEntry) -> Iterator[Mismatch]:
    for name, tensor in entry.each_tensor():
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
