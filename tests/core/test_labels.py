"""How modes are spelled."""

from __future__ import annotations

from typing import Any

import pytest

from instruction_counts.core.labels import by_option
from instruction_counts.core.types import AutogradMode, CaseKey, Language, RuntimeMode


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Language, ["python", "c++"]),
        (RuntimeMode, ["eager", "torchscript", "compiled", "explicit"]),
        (AutogradMode, ["forward", "backward", "explicit"]),
    ],
)
def test_modes_are_spelled_as_people_write_them(kind: Any, expected: list[str]) -> None:
    """In options, in YAML and in results alike; those that are always there come first."""
    assert dict(zip(expected, kind, strict=True)).items() <= by_option(kind).items()
    assert expected == list(by_option(kind))[: len(expected)]


def test_a_key_comes_back_from_its_values() -> None:
    """As files and databases hold it."""
    modes = Language.CPP, RuntimeMode.JIT, AutogradMode.FORWARD_BACKWARD
    key = CaseKey(("a", "b"), *modes, 2)

    assert ["c++", "torchscript", "backward"] == list(key.as_values.values())[1:4]
    assert key == CaseKey.of_values(key.as_values)
