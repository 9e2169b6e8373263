"""What differs between two builds besides their code, and whether counts can still be compared."""

from __future__ import annotations

from collections.abc import Iterator

import attrs

from instruction_counts.analysis.verdicts.sides import Side
from instruction_counts.domain.fingerprint import KNOWN_LATER, Fingerprint

_IN_THE_WAY = ("machine", "allocator", "profile_version")
"""Fields that make counts incomparable: another processor family executes other instructions,
another allocator or environment is part of every count."""

_EXPECTED = ("torch", "torch_git", "torch_debug", "torch_settings", "cxx11_abi", "parallel")
"""Fields that are the build itself: what a comparison is usually about."""

_NOT_SHOWN = ("tool_version",)

_NAMES = {
    "aslr_off": "address randomisation off",
    "caches": "caches of the interpreter",
    "capability": "instruction set of the times",
    "counted_by": "code that counts",
    "counted_capability": "instruction set of the counts",
    "cpu": "CPU",
    "cxx11_abi": "C++11 ABI",
    "libc": "C library",
    "machine": "architecture",
    "pinned_isa": "pinned instruction set",
    "profile_version": "hermetic profile",
    "python": "Python",
    "torch_debug": "torch debug build",
    "torch_git": "torch commit",
    "torch_settings": "torch build settings",
    "valgrind": "Valgrind",
}


@attrs.frozen
class Disagreement:
    """One thing that the two sides do not have in common."""

    name: str
    base: str
    new: str
    prevents: bool = False
    """Whether counts cannot be compared because of it."""
    expected: bool = False
    """Whether it is the build itself that differs, rather than what is around it."""

    @property
    def text(self) -> str:
        """``CPU A → B``."""
        return f"{self.name} {self.base or 'none'} → {self.new or 'none'}"


def disagreements(base: Side, new: Side) -> Iterator[Disagreement]:
    """What differs: first the engine, then the fields of the fingerprints in their order."""
    if base.engine != new.engine:
        yield Disagreement("engine", base.engine, new.engine, prevents=True)
    for field in attrs.fields(Fingerprint):
        before, after = (getattr(side.fingerprint, field.name) for side in (base, new))
        unknown = field.name in KNOWN_LATER and not (before and after)
        if before == after or unknown or field.name in _NOT_SHOWN:
            continue
        yield Disagreement(
            _NAMES.get(field.name, field.name.replace("_", " ")),
            str(before),
            str(after),
            prevents=field.name in _IN_THE_WAY,
            expected=field.name in _EXPECTED,
        )
