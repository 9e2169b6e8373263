"""Finds functions in Python files: their lines, and digests of their code. Imports none of them."""

from __future__ import annotations

import ast
import importlib.util
import sys
from pathlib import Path
from types import CodeType
from typing import Any, Iterator

from .executed import digest
from .installed import Message

_FUNCTIONS = (
    *(ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda),
    *(ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp),
)

GONE, CHANGED = "gone", "changed"
"""Why a function is not found: its file is not there, or nothing of that name at that line."""


def find(request: Message) -> Message:
    """The ``functions``, each with its ``lines`` and ``digests``, or the ``problem`` with it.

    Each is asked for by ``path``, ``line`` and ``name``; where no such file is there, by the
    ``file`` of its package and by ``digest``. ``python`` is whose digests they are.
    """
    python = ".".join(map(str, sys.version_info[:2]))
    return {"python": python, "functions": [_one(**one) for one in request["functions"]]}


def _one(path: str, line: int, name: str, file: str, digest: str, **_: Any) -> dict[str, Any]:
    first = _found(path, line, name)
    if first.get("problem") == GONE:
        for place in _elsewhere(file, path[: -len(file)] if file else ""):
            other = _found(place, line, name)
            if digest in other.get("digests", ()):
                return other
    return first


def _elsewhere(file: str, packages: str) -> Iterator[str]:
    """Where an import would find the file, such as in a checkout that is installed as editable.

    In the folder ``packages`` of the build files say where that is. None of them is executed.
    """
    package = file.partition("/")[0].partition(".py")[0]
    for entry in sorted(Path(packages).glob("*.pth")):
        for line in _text(entry).splitlines():
            if line.strip() and not line.startswith(("#", "import")):
                yield str(Path(packages, line.strip(), file))
    for finder in sorted(Path(packages).glob("__editable__*_finder.py")):
        for place in _mapped(_text(finder), package):
            yield str(Path(place).parent / file)
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError, AttributeError):
        return
    if spec is not None:
        for place in spec.submodule_search_locations or [spec.origin or ""]:
            yield str(Path(place).parent / file)


def _text(path: Path) -> str:
    """What a file says that may not be readable, and then says nothing."""
    try:
        return path.read_text("utf-8", errors="replace")
    except OSError:
        return ""


def _mapped(code: str, package: str) -> Iterator[str]:
    """Where the finder that setuptools writes says that a package is."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values):
                pair = getattr(key, "value", None), getattr(value, "value", None)
                if pair[0] == package and isinstance(pair[1], str):
                    yield pair[1]


def _found(path: str, line: int, name: str) -> dict[str, Any]:
    if not Path(path).is_file():
        return {"problem": GONE}
    try:
        data = Path(path).read_bytes()
        text = importlib.util.decode_source(data)
        code = compile(data, path, "exec", dont_inherit=True)
        tree = ast.parse(data)
    except OSError:
        return {"problem": GONE}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {"problem": CHANGED}
    last = max(_last_lines(tree, line), default=0)
    digests = {
        digest(one)
        for one in _codes(code)
        if (line, name) == (one.co_firstlineno, getattr(one, "co_qualname", one.co_name))
    }
    if not last or not digests:
        return {"problem": CHANGED}
    return {"lines": text.split("\n")[line - 1 : last], "digests": sorted(digests)}


def _last_lines(tree: ast.AST, line: int) -> Iterator[int]:
    """The last line of each function that begins in ``line``: at its first decorator."""
    for node in ast.walk(tree):
        if isinstance(node, _FUNCTIONS):
            decorators: list[ast.expr] = getattr(node, "decorator_list", [])
            if line == min(one.lineno for one in [node, *decorators]):
                yield node.end_lineno or node.lineno


def _codes(code: CodeType) -> Iterator[CodeType]:
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield value
            yield from _codes(value)
