"""The machine whose caches Callgrind simulates, from a YAML file: never the one that it runs on."""

from pathlib import Path
from typing import Annotated, TypeAlias

import attrs

from instruction_counts.domain.bounds import Bounds
from instruction_counts.reading.structure import (
    Mismatch,
    Text,
    read_as,
    refuse,
    require_version,
    strict_converter,
)

DEFAULT_MACHINE = Path(__file__).with_name("machine.yaml")

FORMAT_VERSION = 1
"""Of files of machines: 1, the first."""

_Bytes: TypeAlias = Annotated[int, Bounds(16, 1 << 30)]


@attrs.frozen
class SimulatedCache:
    """A cache; Callgrind replaces the line of a set that was used least recently."""

    size_bytes: _Bytes
    ways: Annotated[int, Bounds(1, 1024)]
    line_bytes: Annotated[int, Bounds(16, 4096)]

    def __attrs_post_init__(self) -> None:
        """Refuse what Valgrind would not start with."""
        per_set = self.ways * self.line_bytes
        sets = 0 if self.size_bytes % per_set else self.size_bytes // per_set
        wrong = []
        if self.line_bytes & (self.line_bytes - 1):
            wrong.append(Mismatch("a power of two", at=("line_bytes",)))
        elif not sets or sets & (sets - 1):
            expected = f"{per_set:,} (ways x line_bytes) times a power of two"
            wrong.append(Mismatch(expected, at=("size_bytes",)))
        refuse(wrong)

    def __str__(self) -> str:
        return f"{self.size_bytes},{self.ways},{self.line_bytes}"


@attrs.frozen
class Machine:
    """The names are those of the file; levels between the first and the last are not simulated."""

    name: Text
    instructions: SimulatedCache
    """The cache of the first level that instructions are read through."""
    data: SimulatedCache
    """That of data."""
    last_level: SimulatedCache

    @property
    def identity(self) -> str:
        """What tells it from others, however it is called: size, ways and line of each cache."""
        return f"I1 {self.instructions} D1 {self.data} LL {self.last_level}"

    @property
    def options(self) -> tuple[str, ...]:
        """What Callgrind is started with to simulate it."""
        geometry = (f"--I1={self.instructions}", f"--D1={self.data}", f"--LL={self.last_level}")
        return ("--cache-sim=yes", "--branch-sim=yes", *geometry)


def read_machine(path: Path = DEFAULT_MACHINE) -> Machine:
    """The machine of a file.

    Raises:
        DataError: the file is missing.
        ValidationError: it holds something else; all of it is named.
    """
    converter = strict_converter()
    require_version(converter, Machine, "version", FORMAT_VERSION)
    return read_as(path, Machine, converter, f"An example: {DEFAULT_MACHINE}")
