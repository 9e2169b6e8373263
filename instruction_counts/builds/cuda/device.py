"""The device that the stand-ins describe, from a YAML file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import attrs

from instruction_counts.domain.bounds import Bounds
from instruction_counts.reading.structure import Check, Text, read_as, strict_converter

DEFAULT_DEVICE = Path(__file__).with_name("h100.yaml")

_LARGEST_INT = (1 << 31) - 1
_Number: TypeAlias = Annotated[int, Bounds(1, _LARGEST_INT)]
_Generation: TypeAlias = Annotated[int, Bounds(0, 99)]
_IN_C = frozenset('"\\').isdisjoint


@attrs.frozen
class Device:
    """What torch asks of a device, and decides by; the names are those of the file."""

    name: Annotated[
        Text,
        Check(str.isascii, "ASCII"),
        Check(_IN_C, "no quotation marks and no backslashes"),
        Check(lambda name: len(name) < 256, "at most 255 characters"),
    ]
    compute_capability: Annotated[
        tuple[_Generation, ...], Check(lambda numbers: len(numbers) == 2, "two numbers: [9, 0]")
    ]
    memory_bytes: Annotated[int, Bounds(1 << 20, 1 << 44)]
    memory_bus_bits: _Number
    l2_bytes: _Number
    multiprocessors: _Number
    warp_size: _Number
    registers: _Number
    threads_per_block: _Number
    threads_per_multiprocessor: _Number
    blocks_per_multiprocessor: _Number
    shared_bytes_per_block: _Number
    shared_bytes_per_block_optin: _Number
    shared_bytes_per_multiprocessor: _Number

    def header(self) -> str:
        """The same for C: a definition each, in its order here."""
        values: dict[str, object] = attrs.asdict(self)
        major, minor = self.compute_capability
        del values["compute_capability"]
        values |= {"name": f'"{self.name}"', "memory_bytes": f"{self.memory_bytes}ull"}
        values |= {"major": major, "minor": minor}
        lines = (f"#define DEVICE_{name.upper()} {value}\n" for name, value in values.items())
        return "".join(lines)


def read_device(path: Path = DEFAULT_DEVICE) -> Device:
    """The device of a file.

    Raises:
        DataError: the file is missing.
        ValidationError: it holds something else; all of it is named.
    """
    remedy = f"An example: {DEFAULT_DEVICE}"
    return read_as(path, Device, strict_converter(), remedy)
