"""The lines of Python functions that changed, as their files have them."""

from __future__ import annotations

import attrs


@attrs.frozen
class SourceLines:
    """A function as it stands in its file."""

    first: int
    """The number of the first line."""
    lines: tuple[str, ...]
    is_checked: bool = True
    """Whether its code is known to be what was executed."""


@attrs.frozen
class SourceChange:
    """A Python function that was edited, or that one side alone executes."""

    file: str
    name: str
    base: SourceLines | None
    """None where base does not execute it, or its file does not hold it any more."""
    new: SourceLines | None
    remarks: tuple[str, ...] = ()
    """Why lines of a side are not shown, or cannot be trusted."""
