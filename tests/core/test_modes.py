"""How modes are spelled."""

from __future__ import annotations

from core.modes import by_option, modes
from core.types import AutogradMode, Language, RuntimeMode


def test_languages_are_spelled_as_people_write_them() -> None:
    """In options, in YAML and in results alike."""
    assert {"python": Language.PYTHON, "c++": Language.CPP} == by_option(Language)


def test_runtimes_are_spelled_as_people_write_them() -> None:
    """The three that are always there come first."""
    expected = {
        "eager": RuntimeMode.EAGER,
        "torchscript": RuntimeMode.JIT,
        "explicit": RuntimeMode.EXPLICIT,
    }

    assert expected == dict(list(by_option(RuntimeMode).items())[:3])


def test_autograd_is_spelled_as_people_write_it() -> None:
    """Backward includes forward."""
    expected = {
        "forward": AutogradMode.FORWARD,
        "backward": AutogradMode.FORWARD_BACKWARD,
        "explicit": AutogradMode.EXPLICIT,
    }

    assert expected == by_option(AutogradMode)


def test_a_further_runtime_is_spelled_too() -> None:
    """Nobody else has to know of it."""
    mode = RuntimeMode.new("DREAMT", "Dreamt")

    assert mode is by_option(RuntimeMode)["dreamt"]
    assert mode in modes(RuntimeMode)
