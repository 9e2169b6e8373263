"""What a specification states, read and checked; nothing is derived yet."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import attrs

from core.api import GroupedBenchmark
from core.types import Label
from instruction_counts.domain.build import Build
from instruction_counts.reading.nodes import Node
from instruction_counts.sources.operators.entries import Distribution, Shape


@attrs.frozen
class Code:
    """Code in both languages; either may be missing."""

    python: str | None = None
    cpp: str | None = None


@attrs.frozen
class Input:
    """A tensor that the setup makes: in each of its shapes, and each of its dtypes."""

    name: str
    shapes: tuple[Shape, ...]
    dtypes: tuple[str, ...]
    distribution: Distribution
    requires_grad: bool


@attrs.frozen
class Model:
    """A TorchScript file whose content is known."""

    path: Path
    sha256: str


Size: TypeAlias = int | str
"""A size; as text one with placeholders."""


@attrs.frozen
class Expected:
    """What a statement computes in one tensor; None is not checked."""

    name: str
    shape: tuple[Size, ...] | None = None
    dtype: str | None = None
    sum: float | None = None
    tolerance: float = 1e-6
    """How far the sum may be off."""


@attrs.frozen
class Entry:
    """One entry of ``benchmarks``: a group of cases in each of its shapes."""

    node: Node
    """Where it stands."""
    fields: Mapping[str, Node]
    id: str
    label: str
    """With placeholders; slashes part it. Empty where it is not stated."""
    inputs: tuple[Input, ...] = ()
    setup: Code = Code()
    global_setup: str = ""
    statement: Code = Code()
    model: Model | None = None
    operator: str | None = None
    signature: str | None = None
    torchscript: bool = False
    autograd: bool = False
    gradient: str | None = None
    num_threads: tuple[int, ...] = (1,)
    expected: tuple[Expected, ...] = ()


@attrs.frozen
class Reporters:
    """Where the results of a run go."""

    screen: bool = True
    directories: tuple[Path, ...] = ()
    database: str | None = None


@attrs.frozen
class Specification:
    """A whole file, expanded."""

    file: Path
    name: str
    builds: tuple[Build, ...]
    timeout_s: float | None
    reporters: Reporters
    benchmarks: Mapping[Label, GroupedBenchmark] = attrs.field(hash=False)
