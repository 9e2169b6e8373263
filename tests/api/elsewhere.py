"""The process that measures, as far as what is passed to it goes."""

import sys
from typing import Any


def made(setup: str, result: str = "locals()", start: str = "") -> Any:
    """What a setup makes, which is executed inside a function; only ``start`` is known there."""
    body = "\n".join(f"    {line}" for line in (*setup.splitlines(), f"return {result}"))
    namespace: dict[str, Any] = {}
    exec(compile(f"{start}\ndef run():\n{body}", "<setup>", "exec"), namespace)  # noqa: S102 - our own
    return namespace["run"]()


def evaluated(setup: str, expression: str) -> str:
    """What an expression is after a setup, as a text."""
    found: str = made(setup, f"repr(({expression}))", "import torch")
    ours = [name for name in sys.modules if name.endswith("test_passing")]
    assert not ours, "what the program defines was imported"
    return found
