"""The engines that there are; a further one is a file with an entry, and one line here.

Options, refusals, result files and verification ask the entries: nothing else names an engine.
"""

from __future__ import annotations

from instruction_counts.domain.errors import UsageError
from instruction_counts.engines import fork, timer
from instruction_counts.engines.entry import Ability, EngineEntry

_ENGINES = {entry.name: entry for entry in (fork.ENTRY, timer.ENTRY)}

DEFAULT = fork.ENTRY.name
"""What measures where nothing else is asked for."""


def register(entry: EngineEntry) -> EngineEntry:
    """Add an engine.

    Raises:
        ValueError: there is one of that name.
    """
    if entry.name in _ENGINES:
        raise ValueError(f'the engine "{entry.name}" is registered already')
    _ENGINES[entry.name] = entry
    return entry


def unregister(entry: EngineEntry) -> None:
    """Remove an engine that was registered."""
    del _ENGINES[entry.name]


def engines() -> tuple[EngineEntry, ...]:
    """All of them, the default first."""
    return tuple(_ENGINES.values())


def engine_named(name: str) -> EngineEntry:
    """The engine of that name.

    Raises:
        UsageError: there is none.
    """
    found = _ENGINES.get(name)
    if found is None:
        raise UsageError(f'unknown engine "{name}"', f"Choose from: {', '.join(_ENGINES)}")
    return found


def require(name: str, ability: Ability, option: str) -> None:
    """Refuse ``option`` where the engine cannot do what it asks for.

    Raises:
        UsageError: it cannot; the error names the engines that can.
    """
    if not engine_named(name).can(ability):
        able = " or ".join(entry.name for entry in engines() if entry.can(ability))
        raise UsageError(f"{option} requires the {able} engine", "Drop one of the two options.")
