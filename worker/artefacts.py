"""Makes what only a build of torch can make. Never loaded while counting."""

from __future__ import annotations

from .main import Message, Shim, make_artefact


def artefact(request: Message, shim: Shim) -> Message:
    """Make the artefact of a case where the case finds it."""
    del shim
    make_artefact(request["case"]["artefact_source"], request["case"]["artefact"])
    return {}
