"""What an engine says of itself: what it can measure, what it needs, and how it is made."""

from __future__ import annotations

import enum
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import attrs

from instruction_counts.builds.missing import Requirement
from instruction_counts.builds.probing import BuildFacts
from instruction_counts.engines.engine import Engine


@attrs.frozen
class Profile:
    """What the hermetic profile leaves to choose.

    ``layout`` perturbs the memory layout on purpose: other addresses on the heap and the stack.
    """

    allocator: str = "steady"
    pinned_isa: str = ""
    layout: int = 0
    min_run_time_s: float = 0.2
    callgrind_out: Path | None = None
    """A folder that gets Callgrind's own file of each case, for KCachegrind."""


class Ability(enum.Enum):
    """What not every engine can do."""

    ALLOCATORS = "the choice of an allocator"
    LAYOUTS = "other memory layouts"
    PINNED_ISA = "a pinned instruction set"
    CALLGRIND_FILES = "Callgrind's own files"


Notice: TypeAlias = Callable[[str], None]
"""Receives what a person should know, such as what this machine refuses."""


@attrs.frozen
class EngineEntry:
    """An engine as it is registered."""

    name: str
    summary: str
    """A line for ``--engine``."""
    abilities: frozenset[Ability]
    make: Callable[[BuildFacts, Profile, Notice], Engine] = attrs.field(eq=False, repr=False)
    """Makes the engine for one build; raises BuildError, with the remedy, where it cannot start."""
    needs: frozenset[Requirement] = frozenset()

    def can(self, ability: Ability) -> bool:
        """Whether it can do that."""
        return ability in self.abilities
