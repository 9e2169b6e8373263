"""How modes are spelled where people write them: in options, in YAML, and in results.

``python``, ``c++``; ``eager``, ``torchscript``, ``explicit`` and whatever else is registered;
``forward``, ``backward``, ``explicit``. Nothing else spells them.
"""

from __future__ import annotations

from typing import Any, TypeVar

from core.types import AutogradMode, Language, RuntimeMode

Mode = TypeVar("Mode", Language, RuntimeMode, AutogradMode)


def modes(kind: type[Mode]) -> tuple[Mode, ...]:
    """All modes of a kind, further runtimes included, in the order in which reports list them."""
    further: tuple[Any, ...] = RuntimeMode.further() if kind is RuntimeMode else ()
    return tuple(kind) + further


def by_option(kind: type[Mode]) -> dict[str, Mode]:
    """The modes of a kind by their spelling."""
    return {mode.option: mode for mode in modes(kind)}


def mode_of(kind: type[Mode], option: object) -> Mode:
    """The mode that is spelled so.

    Raises:
        ValueError: there is none.
    """
    for mode in modes(kind):
        if mode.option == option:
            return mode
    raise ValueError(f"{option!r} is not a valid {kind.__name__}")
