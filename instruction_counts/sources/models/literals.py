"""Python code of plain values, laid out as ruff lays it out."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import Any

_WIDTH = 100


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


def call(function: str, arguments: Sequence[str], indent: int) -> str:
    """A call with arguments that are code: on one line where it fits, else an argument a line."""
    flat = f"{function}({', '.join(arguments)})"
    return flat if indent + len(flat) + 1 <= _WIDTH else lines(function, arguments, indent)


def several(codes: Sequence[str], indent: int, before: int) -> str:
    """A tuple of values that are code, one per line; a single value on one line if it fits."""
    flat = f"({codes[0]},)" if len(codes) == 1 else ""
    fits = flat and "\n" not in flat and indent + before + len(flat) + 1 <= _WIDTH
    return flat if fits else lines("", codes, indent)


def lines(function: str, arguments: Sequence[str], indent: int) -> str:
    """A call with an argument a line."""
    inner = "".join(f"{' ' * (indent + 4)}{code},\n" for code in arguments)
    return f"{function}(\n{inner}{' ' * indent})"
