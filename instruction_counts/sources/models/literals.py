"""Python code of plain values, laid out as ruff lays it out."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any


def text(value: str) -> str:
    """A text in double quotes, in single ones where that saves escapes."""
    code = repr(value)
    if code.startswith("'") and '"' not in value:
        return f'"{code[1:-1]}"'
    return code


def block(code: str, indent: int) -> str:
    """Code as a text: on one line, or between triple quotes where it has several."""
    if "\n" not in code:
        return text(code)
    inner = textwrap.indent(code.replace("\\", "\\\\").replace('"""', '\\"\\"\\"'), " " * indent)
    return f'"""\n{inner}\n{" " * indent}"""'


def literal(value: Any) -> str:
    """A plain value, on one line."""
    if isinstance(value, str):
        return text(value)
    if isinstance(value, tuple):
        return f"({', '.join(map(literal, value))}{',' if len(value) == 1 else ''})"
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return repr(value)


def lines(function: str, arguments: Sequence[str], indent: int) -> str:
    """A call with an argument a line."""
    inner = "".join(f"{' ' * (indent + 4)}{code},\n" for code in arguments)
    return f"{function}(\n{inner}{' ' * indent})"
