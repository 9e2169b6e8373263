"""A call in Python: the lines that make its tensors, and the expression that calls it."""

from __future__ import annotations

import math
from typing import Any

from instruction_counts.core.types import Language
from instruction_counts.sources.operators.calls import Call, Ref
from instruction_counts.sources.operators.values import drawn


def setup(call: Call) -> str:
    """Python that makes the tensors of ``call``, the same for the same seed."""
    lines = [f"torch.manual_seed({call.seed})"]
    lines += [drawn(value, Language.PYTHON) for value in call.values]
    if call.differentiates:
        lines.append(f"gradient = torch.ones_like({expression(call)})")
    return "\n".join(lines)


def expression(call: Call) -> str:
    """The call, and which part of what it returns is meant."""
    text = call.entry.python or _called(call)
    return text if call.entry.output is None else f"{_bracketed(text)}[{call.entry.output}]"


def _bracketed(text: str) -> str:
    return text if text.endswith(")") and " " not in text.partition("(")[0] else f"({text})"


def _called(call: Call) -> str:
    positional = [literal(value) for value in call.positional]
    keywords = [f"{name}={literal(value)}" for name, value in call.keywords.items()]
    name = call.entry.name
    if call.entry.is_method:
        receiver = positional.pop(0)
        name = f"{receiver}.{name.removeprefix('Tensor.')}"
    return f"{name}({', '.join([*positional, *keywords])})"


def literal(value: Any) -> str:
    """A value as Python writes it; a text that names an object of torch is that object."""
    if isinstance(value, Ref):
        return value.name
    if isinstance(value, tuple):
        return f"[{', '.join(literal(item) for item in value)}]"
    if isinstance(value, str) and value.startswith("torch."):
        return value
    if isinstance(value, float) and not math.isfinite(value):
        return f'float("{value}")'
    return repr(value)
