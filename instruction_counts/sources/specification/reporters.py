"""Where a specification says that results go."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from instruction_counts.reading.documents import (
    Node,
    Problems,
    fields,
    flag,
    items,
    mapping,
    one_of,
    path_of,
    text,
)
from instruction_counts.sources.specification.values import Endpoint, Reporters
from instruction_counts.system.loopback import is_loopback

_KINDS = ("screen", "directory", "database", "http")


def reporters(folder: Path, problems: Problems, node: Node) -> Reporters:
    """Where results go; files and folders are named from ``folder``."""
    parts: dict[str, Any] = {"screen": False, "directories": (), "database": None, "endpoints": ()}
    for one in items(node):
        add = functools.partial(_add, folder, parts)
        problems.attempt(add, one)
    return Reporters(**parts)


def _add(folder: Path, parts: dict[str, Any], node: Node) -> None:
    kind, below = _kind(node)
    if kind == "screen":
        parts["screen"] = below is node or flag(below)
    elif kind == "directory":
        parts["directories"] += (path_of(below, folder),)
    elif kind == "database":
        if parts["database"] is not None:
            raise below.unlike("one database, since a run is in one")
        where = text(below)
        parts["database"] = where if "://" in where else str(path_of(below, folder))
    else:
        parts["endpoints"] += (_endpoint(below),)


def _kind(node: Node) -> tuple[str, Node]:
    if node.value == "screen":
        return "screen", node
    if isinstance(node.value, str):
        raise node.unlike(one_of(_KINDS, node.value), f'a reporter "{node.value}"')
    found = mapping(node)
    if len(found) != 1:
        raise node.unlike("one reporter an item", ", ".join(found) or "none")
    ((kind, below),) = found.items()
    if kind not in _KINDS:
        raise below.unlike(one_of(_KINDS, kind), f'a reporter "{kind}"')
    return kind, below


def _endpoint(node: Node) -> Endpoint:
    parts = fields(node, ("url",), ("token_env",))
    url = text(parts["url"])
    try:
        split = urlsplit(url)
        host = split.hostname or ""
        _ = split.port
    except ValueError:
        raise parts["url"].unlike("a URL") from None
    if split.username or split.password:
        expected = "a URL without a password; a token is in the environment: token_env"
        raise parts["url"].unlike(expected, "one with a password")
    if not host or split.scheme not in {"https", "http"}:
        raise parts["url"].unlike("a URL that begins with https://")
    if split.scheme == "http" and not is_loopback(host):
        raise parts["url"].unlike("https://: results and token would be readable on their way")
    token_env = text(parts["token_env"]) if "token_env" in parts else ""
    if token_env and not token_env.isidentifier():
        raise parts["token_env"].unlike("the name of a variable of the environment")
    return Endpoint(url, token_env)
