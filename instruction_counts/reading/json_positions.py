"""JSON written so that a reader of YAML finds the same values in the same lines.

`json` decides what is JSON. YAML differs from it in few things: tabs, signs beyond ASCII that it
takes for ends of lines, pairs of surrogates, and numbers such as 1e-06 (`NUMBER`).
"""

from __future__ import annotations

import json
import re
from typing import NoReturn

import attrs

NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?$")
"""What YAML's own pattern leaves as text."""

_ESCAPE = re.compile(
    r"\\(?:u(?P<high>d[89ab]..)\\u(?P<low>d[c-f]..)|u(?P<half>d[89a-f]..)|.)", re.IGNORECASE
)


@attrs.frozen
class JsonError(Exception):
    """What is no JSON, with its line where that is known, else 0."""

    line: int
    reason: str


def as_yaml(data: bytes) -> str:
    """The same values in the same lines.

    Raises:
        JsonError: it is no JSON.
    """
    try:
        text = data.decode("utf-8-sig")
        json.loads(text, parse_constant=_refuse)
    except json.JSONDecodeError as error:
        raise JsonError(error.lineno, error.msg) from error
    except UnicodeDecodeError as error:
        raise JsonError(data.count(b"\n", 0, error.start) + 1, "no UTF-8") from error
    except RecursionError as error:
        raise JsonError(0, "nested too deeply") from error
    except ValueError as error:  # more digits than Python reads
        raise JsonError(0, str(error)) from error
    # Outside of texts, which hold neither as they are, JSON is ASCII, and a tab is a blank.
    plain = text.replace("\t", " ").replace("\x7f", "\\x7f")
    return _ESCAPE.sub(_joined, plain.encode("ascii", "backslashreplace").decode())


def _joined(escape: re.Match[str]) -> str:
    if escape["half"]:  # which no file takes again
        line = escape.string.count("\n", 0, escape.start()) + 1
        raise JsonError(line, "half of a pair of surrogates")
    if not escape["high"]:
        return escape[0]
    return f"\\U{ord(json.loads(f'{chr(34)}{escape[0]}{chr(34)}')):08x}"


def _refuse(name: str) -> NoReturn:
    raise JsonError(0, f"{name} is no number of JSON")
