"""Operators as ``definitions/operators.yaml`` states them: values, and nothing derived yet."""

from __future__ import annotations

import keyword
from collections.abc import Iterator, Mapping
from typing import Any, TypeAlias, TypeVar

import attrs

VARIANTS = ("small", "typical", "large", "skewed")
FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int8", "uint8", "int16", "int32", "int64")
DTYPES = (*FLOATS, *COMPLEX, *INTEGERS, "bool")
DEFAULT_DTYPE = "float32"
LARGEST_SEED = 2**63 - 1
"""That every torch takes, in Python and in C++."""

DISTRIBUTIONS = (
    "normal",
    "uniform",
    "integers",
    "index_of",
    "bernoulli",
    "zeros",
    "ones",
    "arange",
    "sorted",
    "permutation",
    "positive_definite",
    "lower_triangular",
)

SIZE = "N"
"""What stands for the size in a template."""

TAKEN = frozenset(
    {
        *("out", "gradient", "torch"),
        # Around scripted calls; see core.runtimes.
        *("_", "range", "jit_model", "ivalue_inputs", "warm_up_call", "warm_up_inputs"),
    }
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

T = TypeVar("T")
Shape: TypeAlias = tuple[int, ...]
Template: TypeAlias = tuple[int | str, ...]
"""A shape that grows with `SIZE`."""


@attrs.frozen
class ByVariant:
    """A value that differs from variant to variant."""

    values: Mapping[str, Any]

    def __hash__(self) -> int:
        return hash(tuple(self.values))


@attrs.frozen
class Distribution:
    """How the values of a tensor are drawn; see `instruction_counts.sources.operators.values`."""

    name: str
    low: float = 0
    high: float = 1
    """Excluded."""
    of: str = ""
    """The input whose size the indices stay below, for ``index_of``."""
    dim: int = 0


@attrs.frozen
class Tensor:
    """A tensor that is handed to an operator."""

    shape: Shape | ByVariant
    dtype: str | None = None
    """None follows what is asked for; float32 if nothing is."""
    distribution: Distribution | None = None
    """None is what is usual for the dtype."""
    requires_grad: bool | None = None
    """None if and only if it can, where the operator differentiates."""


Input: TypeAlias = "Tensor | tuple[Tensor, ...]"
"""A tensor, or a list of them."""


@attrs.frozen
class OperatorEntry:
    """One operator, with what it is given."""

    name: str
    """``torch.add``, ``torch.nn.functional.conv2d``, ``Tensor.add_``."""
    category: str
    inputs: Mapping[str, Input] = attrs.field(factory=dict)
    kwargs: Mapping[str, Any] = attrs.field(factory=dict)
    positional: tuple[str, ...] = ()
    """Inputs and keyword arguments that come by position, after the inputs not named here."""
    autograd: bool = True
    torchscript: bool = True
    compiled: bool = False
    output: int | None = None
    """Which part of what it returns is the output, where it returns several."""
    python: str | None = None
    cpp: str | bool | None = None
    """None derives it from torch's schema; False is none."""
    overload: str | None = None
    scale: Mapping[str, Template] = attrs.field(factory=dict)
    """How inputs grow over a range of sizes; nothing grows them by a rule."""
    sizes: str = ""
    """The range that is usual, as ``--sizes`` has it; empty goes by the elements of the inputs."""
    note: str = ""
    file: str = ""
    line: int = 0

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
    def follows_dtype(self) -> bool:
        """Whether there is a tensor whose dtype can be asked for."""
        return any(tensor.dtype is None for _, tensor in each_tensor(self.inputs))

    @property
    def variants(self) -> tuple[str, ...]:
        """The variants that all values of the entry have; ``typical`` where none differs."""
        sets = [set(value.values) for value in self._values() if isinstance(value, ByVariant)]
        common = set.intersection(*sets) if sets else {"typical"}
        return tuple(name for name in VARIANTS if name in common)

    def _values(self) -> Iterator[Any]:
        yield from (tensor.shape for _, tensor in each_tensor(self.inputs))
        yield from self.kwargs.values()


def each_tensor(inputs: Mapping[str, T | tuple[T, ...]]) -> Iterator[tuple[str, T]]:
    """Every tensor among inputs, those of lists too, with the name of its input."""
    for name, value in inputs.items():
        yield from ((name, part) for part in (value if isinstance(value, tuple) else (value,)))


def has_dimension(shape: Shape, dim: int) -> bool:
    """Whether a shape has a dimension; negative ones are counted from its end."""
    return -len(shape) <= dim < len(shape)


def at(value: Any, variant: str) -> Any:
    """A value as it is in a variant."""
    return value.values[variant] if isinstance(value, ByVariant) else value


def is_argument(name: str) -> bool:
    """Whether Python lets a value be handed over by this name."""
    return name.isidentifier() and not keyword.iskeyword(name)


def is_variable(name: str) -> bool:
    """Whether a tensor can have this name in both languages, and hides nothing of ours."""
    return is_argument(name) and name not in TAKEN | CPP_KEYWORDS
