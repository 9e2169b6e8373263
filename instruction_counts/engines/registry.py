"""The engines that there are; a further one is a file with an entry, and one line here.

Options, refusals, result files and verification ask the entries: nothing else names an engine.
"""

from instruction_counts.domain.errors import UsageError
from instruction_counts.domain.registry import Registry
from instruction_counts.engines import fork, timer

_ENGINES = Registry("engine", fork.ENTRY, timer.ENTRY)
register, unregister = _ENGINES.register, _ENGINES.unregister
engines, engine_named = _ENGINES.entries, _ENGINES.named

DEFAULT = fork.ENTRY.name
"""What measures where nothing else is asked for."""


def require_profile(name: str, option: str) -> None:
    """Refuse ``option`` where the engine follows no profile.

    Raises:
        UsageError: it does not; the error names the engines that do.
    """
    if not engine_named(name).follows_profile:
        able = " or ".join(entry.name for entry in engines() if entry.follows_profile)
        raise UsageError(f"{option} requires the {able} engine", "Drop one of the two options.")
