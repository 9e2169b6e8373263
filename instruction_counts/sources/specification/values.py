"""What a specification may hold: classes that its file is read by, and what they make of it."""

import hashlib
import keyword
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

import attrs

from instruction_counts.builds.configured import Builds
from instruction_counts.core.errors import one_of
from instruction_counts.core.labels import DEVICES
from instruction_counts.domain.bounds import Bounds, Count, Positive, seconds_of
from instruction_counts.reading.structure import (
    Check,
    Mismatch,
    Parsed,
    Several,
    Text,
    among,
    refuse,
    strict_converter,
)
from instruction_counts.sources.operators import entries

CONVERTER = strict_converter()
_KINDS = ("statement", "model", "operator")
_Device: TypeAlias = Annotated[str, among(DEVICES)]
_CODE = (
    *("setup", "global_setup", "signature", "torchscript", "compiled", "exported"),
    *("autograd", "gradient"),
)
_OURS = ("torch", "model", "gradient", "model_inputs", "warm_up_call")
_RESERVED = frozenset({*keyword.kwlist, *entries.CPP_KEYWORDS, *_OURS})
"""What an input of a statement cannot be called: it would be code that does not mean it."""
_OUTPUT_OF_MODEL = "y"

# Inputs

_Dtype: TypeAlias = Annotated[str, among(entries.DTYPES)]


def _shapes(value: Any) -> tuple[entries.Shape, ...]:
    if not isinstance(value, list):
        raise Mismatch("a shape such as [32, 128], or a list of shapes")
    if any(isinstance(item, list) for item in value):
        found: tuple[entries.Shape, ...] = CONVERTER.structure(value, tuple[tuple[Count, ...], ...])
        return found
    return (CONVERTER.structure(value, tuple[Count, ...]),)


@attrs.frozen
class Input:
    """A tensor that the setup makes: in each of its shapes, and each of its dtypes.

    What is None is not stated: float32, the usual values of the dtype, and no gradient, or what the
    entry of an operator says.
    """

    shapes: Annotated[tuple[entries.Shape, ...], Parsed(_shapes)] = attrs.field(alias="shape")
    dtypes: Annotated[Several[_Dtype], Check(len, one_of(entries.DTYPES))] | None = attrs.field(
        default=None, alias="dtype"
    )
    distribution: entries.Drawn | None = None
    requires_grad: bool | None = None

    def __attrs_post_init__(self) -> None:
        """Leave indices to operators, and gradients to what can have them."""
        if self.distribution is not None and self.distribution.of:
            expected = "integers: [low, high]; index_of works only for operators"
            raise Mismatch(expected, at=("distribution",))
        can = set(entries.WITH_GRADIENTS).issuperset(self.dtypes or ())
        if self.requires_grad and not can:
            expected = f"false: only {', '.join(entries.WITH_GRADIENTS)} have gradients"
            raise Mismatch(expected, at=("requires_grad",))


# What a statement computes, and models


@attrs.frozen
class Code:
    """Code in both languages; either may be missing."""

    python: Text | None = None
    cpp: Text | None = None


@attrs.frozen
class Expected:
    """What a statement computes in one tensor; None is not checked."""

    shape: tuple[Count | str, ...] | None = None
    """A text is a size with placeholders."""
    dtype: _Dtype | None = None
    sum: float | None = None
    tolerance: Annotated[float, Bounds(0)] = 1e-6
    """How far the sum may be off."""


@attrs.frozen
class Model:
    """A TorchScript file whose content is known."""

    path: Path = attrs.field(alias="file")
    sha256: Annotated[
        str,
        Check(
            re.compile("[0-9a-fA-F]{64}").fullmatch,
            "64 hexadecimal digits, as printed by sha256sum",
        ),
    ]

    def __attrs_post_init__(self) -> None:
        """Let the file be the one that is meant."""
        try:
            with self.path.open("rb") as stream:
                digest = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            expected = "an existing file, relative to the specification"
            raise Mismatch(expected, error.strerror, ("file",)) from error
        if digest != self.sha256.lower():
            expected = f"the checksum of {self.path.name}: {digest}"
            raise Mismatch(expected, self.sha256, ("sha256",))


# Entries


def _are_distinct(values: tuple[object, ...]) -> bool:
    return 0 < len(values) == len(set(values))


@attrs.frozen
class Entry:
    """One entry of ``benchmarks``: a group of cases in each of its shapes."""

    id: Annotated[
        str,
        Check(
            re.compile(r"[\w. -]+").fullmatch, "a name of letters, digits, spaces, dots and dashes"
        ),
    ]
    label: Text = ""
    """With placeholders; slashes part it. Empty where it is not stated."""
    inputs: Mapping[Annotated[str, Check(str.isidentifier, "the name of a variable")], Input] = (
        attrs.field(factory=dict)
    )
    setup: Text | Code | None = None
    global_setup: Text = ""
    statement: Text | Code | None = None
    model: Model | None = None
    operator: Text | None = None
    signature: Text | None = None
    torchscript: bool = False
    compiled: entries.CompileOptions = False
    exported: entries.ExportOptions = False
    autograd: bool = False
    gradient: Text | None = None
    num_threads: Annotated[
        Several[Positive], Check(_are_distinct, "a thread count, or a list of distinct ones")
    ] = (1,)
    devices: (
        Annotated[Several[_Device], Check(_are_distinct, "a device, or a list of distinct ones")]
        | None
    ) = attrs.field(default=None, alias="device")
    """None is the CPU, without a variable ``device`` in the code."""
    expected: Mapping[str, Expected] = attrs.field(factory=dict)

    def __attrs_post_init__(self) -> None:
        """Refuse what contradicts itself."""
        refuse(self._contradictions())

    def _contradictions(self) -> Iterator[Mismatch]:
        kinds = [kind for kind in _KINDS if getattr(self, kind) is not None]
        if len(kinds) != 1:
            found = " and ".join(kinds) or "none of them"
            yield Mismatch("exactly one of statement, model and operator", found)
        elif self.operator is not None:
            yield from self._contradictions_of_operator()
        else:  # the inputs of an operator are called as its entry says
            taken = _RESERVED | ({_OUTPUT_OF_MODEL} if self.model is not None else set())
            for name in taken & self.inputs.keys():
                expected = "another name: this one is reserved"
                yield Mismatch(expected, f'"{name}"', ("inputs", name))
        for what in ("shapes", "dtypes"):
            numbers = {
                name: len(getattr(tensor, what) or ("",)) for name, tensor in self.inputs.items()
            }
            if len({*numbers.values()} - {1}) > 1:
                expected = f"the same number of {what} for all inputs that have more than one"
                each = ", ".join(f"{number} of {name}" for name, number in numbers.items())
                yield Mismatch(expected, each, ("inputs",))

    def _contradictions_of_operator(self) -> Iterator[Mismatch]:
        for name in _CODE:
            if getattr(self, name):
                yield Mismatch("nothing: the operator's entry defines it", f'"{name}"', (name,))
        for name, tensor in self.inputs.items():
            if tensor.distribution is not None or tensor.requires_grad is not None:
                expected = "shape and dtype: the operator's entry defines the rest"
                yield Mismatch(expected, "more", ("inputs", name))
        if len({tensor.dtypes for tensor in self.inputs.values()} - {None}) > 1:
            yield Mismatch("one dtype, or one list of them, for all inputs", "several", ("inputs",))


def code_of(stated: str | Code | None) -> tuple[str | None, str | None]:
    """Code in Python and in C++; what is stated without a language is Python."""
    return (stated.python, stated.cpp) if isinstance(stated, Code) else (stated, None)


# The file


def _database(value: Any) -> str:
    is_url = isinstance(value, str) and "://" in value
    return value if is_url else str(CONVERTER.structure(value, Path))


@attrs.frozen
class _Reporter:
    """One place where results go."""

    directory: Path | None = None
    database: Annotated[str, Parsed(_database)] | None = None


@attrs.frozen
class Reporters:
    """Where the results of a run go; without ``reporters`` to the screen."""

    screen: bool = True
    directories: tuple[Path, ...] = ()
    database: str | None = None


def _reporters(value: Any) -> Reporters:
    stated = CONVERTER.structure(value, tuple[Literal["screen"] | _Reporter, ...])
    named = [item for item in stated if isinstance(item, _Reporter)]
    databases = [item.database for item in named if item.database is not None]
    if len(databases) > 1:
        raise Mismatch("only one database", " and ".join(databases))
    directories = (item.directory for item in named if item.directory is not None)
    return Reporters("screen" in stated, tuple(directories), next(iter(databases), None))


@attrs.frozen
class File:
    """A whole file."""

    benchmarks: Annotated[tuple[Entry, ...], Check(len, "at least one benchmark")]
    name: Text = ""
    builds: Builds = ()
    timeout: Annotated[float, Parsed(seconds_of)] | None = None
    seed: Annotated[int, Bounds(0, entries.LARGEST_SEED)] = 0
    reporters: Annotated[Reporters, Parsed(_reporters)] = Reporters()

    def __attrs_post_init__(self) -> None:
        """Let each entry have an id of its own."""
        ids = [entry.id for entry in self.benchmarks]
        refuse(
            Mismatch("unique ids", f'"{name}" again', ("benchmarks", place, "id"))
            for place, name in enumerate(ids)
            if name in ids[:place]
        )
