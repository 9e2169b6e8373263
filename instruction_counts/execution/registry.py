"""The kinds of lanes that there are; a further one is a file with an entry, and one line here."""

from __future__ import annotations

from instruction_counts.domain.errors import UsageError
from instruction_counts.execution import local_lanes
from instruction_counts.execution.lanes import LanesEntry

_KINDS = {entry.name: entry for entry in (local_lanes.ENTRY,)}

DEFAULT = local_lanes.ENTRY.name
"""Where cases are measured if nothing else is asked for."""


def register(entry: LanesEntry) -> None:
    """Add a kind of lanes.

    Raises:
        ValueError: there is one of that name.
    """
    if entry.name in _KINDS:
        raise ValueError(f'lanes "{entry.name}" are registered already')
    _KINDS[entry.name] = entry


def unregister(entry: LanesEntry) -> None:
    """Remove a kind that was registered."""
    del _KINDS[entry.name]


def kinds_of_lanes() -> tuple[LanesEntry, ...]:
    """All of them, the default first."""
    return tuple(_KINDS.values())


def lanes_named(name: str) -> LanesEntry:
    """The kind of that name.

    Raises:
        UsageError: there is none.
    """
    if name not in _KINDS:
        raise UsageError(f'unknown lanes "{name}"', f"Choose from: {', '.join(_KINDS)}")
    return _KINDS[name]
