"""Where a specification says that results go."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from instruction_counts.reading.nodes import (
    Node,
    Problems,
    flag,
    items,
    mapping,
    one_of,
    path_of,
    text,
)
from instruction_counts.sources.specification.values import Reporters

_KINDS = ("screen", "directory", "database")


def reporters(folder: Path, problems: Problems, node: Node) -> Reporters:
    """Where results go; files and folders are named from ``folder``."""
    parts: dict[str, Any] = {"screen": False, "directories": (), "database": None}
    for item in items(node):
        add = functools.partial(_add, folder, parts)
        problems.attempt(add, item)
    return Reporters(**parts)


def _add(folder: Path, parts: dict[str, Any], node: Node) -> None:
    kind, below = _kind(node)
    if kind == "screen":
        parts["screen"] = below is node or flag(below)
    elif kind == "directory":
        parts["directories"] += (path_of(below, folder),)
    else:
        if parts["database"] is not None:
            raise below.unlike("only one database")
        where = text(below)
        parts["database"] = where if "://" in where else str(path_of(below, folder))


def _kind(node: Node) -> tuple[str, Node]:
    if node.value == "screen":
        return "screen", node
    if isinstance(node.value, str):
        raise node.unlike(one_of(_KINDS, node.value), f'a reporter "{node.value}"')
    found = mapping(node)
    if len(found) != 1:
        raise node.unlike("one reporter per item", ", ".join(found) or "none")
    ((kind, below),) = found.items()
    if kind not in _KINDS:
        raise below.unlike(one_of(_KINDS, kind), f'a reporter "{kind}"')
    return kind, below
