"""What is asked for of a source of operators."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import attrs


def unheard(text: str) -> None:
    """Where nobody listens to notes."""


@attrs.frozen
class OperatorRequest:
    """What ``--operators`` and the options beside it ask for; empty is not asked for."""

    patterns: tuple[str, ...]
    shapes: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    """``NAME=[SIZES]``."""
    seed: int | None = None
    overrides: Path | None = None
    samples: int | None = None
    file: Path | None = None
    note: Callable[[str], None] = attrs.field(default=unheard, eq=False, repr=False)
