"""How modes are spelled."""

from __future__ import annotations

from typing import Any

import pytest

from core.labels import by_option, modes
from core.types import AutogradMode, Language, RuntimeMode


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Language, {"python": Language.PYTHON, "c++": Language.CPP}),
        (
            RuntimeMode,
            {
                "eager": RuntimeMode.EAGER,
                "torchscript": RuntimeMode.JIT,
                "explicit": RuntimeMode.EXPLICIT,
            },
        ),
        (
            AutogradMode,
            {
                "forward": AutogradMode.FORWARD,
                "backward": AutogradMode.FORWARD_BACKWARD,
                "explicit": AutogradMode.EXPLICIT,
            },
        ),
    ],
)
def test_modes_are_spelled_as_people_write_them(kind: Any, expected: dict[str, object]) -> None:
    """In options, in YAML and in results alike; those that are always there come first."""
    assert expected == dict(list(by_option(kind).items())[: len(expected)])


def test_a_further_runtime_is_spelled_too() -> None:
    """Nobody else has to know of it."""
    mode = RuntimeMode.new("DREAMT", "Dreamt")

    assert mode is by_option(RuntimeMode)["dreamt"]
    assert mode in modes(RuntimeMode)
