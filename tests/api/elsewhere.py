"""The process that measures, as far as what is passed to it goes."""

import sys
from typing import Any


def evaluated(setup: str, expression: str) -> str:
    """What an expression is after a setup, which is executed inside a function, as a text."""
    body = "\n".join(f"    {line}" for line in setup.splitlines())
    text = f"import torch\ndef run():\n{body}\n    return repr(({expression}))"
    namespace: dict[str, Any] = {}
    exec(compile(text, "<setup>", "exec"), namespace)  # noqa: S102 - our own
    found: str = namespace["run"]()
    ours = [name for name in sys.modules if name.endswith("test_passing")]
    assert not ours, "what the program defines was imported"
    return found
