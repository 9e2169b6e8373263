"""The kinds of lanes that there are; a further one is a file with an entry, and one line here."""

from __future__ import annotations

from instruction_counts.domain.registry import Registry
from instruction_counts.execution import local_lanes

_KINDS = Registry("kind of lanes", local_lanes.ENTRY)
register, unregister = _KINDS.register, _KINDS.unregister
kinds_of_lanes, lanes_named = _KINDS.entries, _KINDS.named

DEFAULT = local_lanes.ENTRY.name
"""Where cases are measured if nothing else is asked for."""
